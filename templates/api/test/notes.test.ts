import assert from "node:assert/strict";
import { test } from "node:test";
import { testClient } from "stoa/testing";
import createApp from "../src/app.js";
import type { Settings } from "../src/settings.js";

const settings: Settings = { CORS_ORIGINS: [], LOG_LEVEL: "error", NOTE_LIMIT: 2 };

test("a note that was added can be read, listed and deleted", async () => {
  await using client = testClient(createApp(settings));
  const added = await client.post("/notes", { json: { text: " buy oranges " } });
  assert.equal(added.status, 201);
  const note = await added.json();
  assert.equal(note.text, "buy oranges");
  assert.deepEqual(await (await client.get(`/notes/${note.id}`)).json(), note);
  assert.deepEqual(await (await client.get("/notes")).json(), [note]);
  assert.equal((await client.delete(`/notes/${note.id}`)).status, 204);
  assert.equal((await client.get(`/notes/${note.id}`)).status, 404);
});

test("wrong input is refused with 422", async () => {
  await using client = testClient(createApp(settings));
  assert.equal((await client.post("/notes", { json: { text: "" } })).status, 422);
  assert.equal((await client.get("/notes/x")).status, 422);
  assert.equal((await client.get("/notes", { query: { limit: 1000 } })).status, 422);
});

test("there are not more notes than NOTE_LIMIT", async () => {
  await using client = testClient(createApp(settings));
  for (const status of [201, 201, 409]) {
    assert.equal((await client.post("/notes", { json: { text: "one more" } })).status, status);
  }
});

test("the OpenAPI document describes the routes", async () => {
  const document = await createApp(settings).openapi();
  assert.deepEqual(Object.keys(document.paths ?? {}).sort(), ["/notes", "/notes/{id}"]);
});
