import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { serve, testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { chatApp } from "../../examples/chat/app.js";
import { tourApp } from "../../examples/tour/app.js";

describe("the tour", () => {
  it("The tour injects, validates, guards and handles errors as documented", async () => {
    const app = tourApp();
    const json = { "content-type": "application/json", "x-visitor": "ann" };
    const greeted = await app.request("/greetings", { method: "POST", headers: json, body: '{"text":"hi"}' });
    expect([greeted.status, await greeted.json()]).toEqual([201, { from: "ann", text: "hi", at: expect.any(String) }]);
    expect((await app.request("/greetings", { method: "POST", headers: json, body: '{"text":""}' })).status).toBe(422);
    expect(await (await app.request("/members/me")).json()).toEqual({ error: "Say who you are: X-User" });
    expect(await (await app.request("/members/me", { headers: { "x-user": "bo" } })).json()).toEqual({ user: "bo" });
  });

  it("The tour accepts uploads, serves ranges and sends events over the wire", async () => {
    await using server = await serve(tourApp());
    const bytes = new Uint8Array(300_000).fill(7);
    const form = new FormData();
    form.set("note", "not a file");
    form.set("file", new Blob([bytes]), "seven.bin");
    const uploaded = await fetch(`${server.url}/uploads`, { method: "POST", body: form });
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(await uploaded.json()).toEqual({ files: [{ name: "seven.bin", size: 300_000, sha256 }] });

    const source = await readFile(new URL("../../examples/tour/app.ts", import.meta.url), "utf8");
    const part = await fetch(`${server.url}/source`, { headers: { range: "bytes=0-9" } });
    expect([part.status, await part.text()]).toEqual([206, source.slice(0, 10)]);

    const leave = new AbortController();
    const ticks = await fetch(`${server.url}/ticks?every=5`, { signal: leave.signal });
    const reader = ticks.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes('{"n":2}')) text += (await reader.read()).value;
    expect(text).toContain("event: tick\nid: 1");
    leave.abort();
  });
});

describe("the chat", () => {
  it("The chat sends every message to all members", async () => {
    await using client = testClient(chatApp());
    const ann = await client.websocket("/rooms/lobby/ann");
    expect((await ann.recv())?.json()).toEqual({ text: "ann has come" });
    const bo = await client.websocket("/rooms/lobby/bo");
    expect((await bo.recv())?.json()).toEqual({ text: "ann has come" });
    expect((await bo.recv())?.json()).toEqual({ text: "bo has come" });
    await bo.sendText("hello");
    expect((await ann.recv())?.json()).toEqual({ text: "bo has come" });
    expect((await ann.recv())?.json()).toEqual({ text: "bo: hello" });
    const members = (await client.get("/rooms/lobby/members")).json();
    expect(await members).toEqual({ count: 2, members: [{ name: "ann" }, { name: "bo" }] });
    await bo.close();
    expect((await ann.recv())?.json()).toEqual({ text: "bo has left" });
    const cy = await client.websocket("/rooms/attic/cy");
    expect((await cy.recv())?.json()).toEqual({ text: "cy has come" });
  });
});
