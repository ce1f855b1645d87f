import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { migrate } from "stoa/migrations";
import { type TestClient, testClient } from "stoa/testing";
import createApp from "../src/app.js";

const app = createApp({
  DATABASE_URL: "pglite:", // a PostgreSQL in the memory of this process
  JWT_SECRET: "a secret for the tests: 0123456789",
  LOG_LEVEL: "error",
  LOGINS_PER_MINUTE: 8,
  TOKEN_SECONDS: 60,
});
const anonymous = testClient(app);

before(async () => {
  await anonymous.start();
  await migrate(app.database, { directory: new URL("../migrations", import.meta.url) });
});
after(() => anonymous.stop());

const password = "correct horse battery";
const signUp = (name: string) => anonymous.post("/signup", { json: { email: `${name}@example.org`, password } });

/** A client with the token of a new account. */
async function clientOf(name: string): Promise<TestClient> {
  const { token } = await (await signUp(name)).json();
  return testClient(app, { headers: { authorization: `Bearer ${token}` } });
}

test("an account signs up, gets a mail, reads itself and logs out", async () => {
  const ann = await clientOf("ann");
  const me = await (await ann.get("/me")).json();
  assert.deepEqual(Object.keys(me).sort(), ["createdAt", "email", "id"]);
  assert.equal(me.email, "ann@example.org");
  assert.equal((await app.jobs.list({ name: "welcome-mail" })).length, 1);
  assert.equal((await ann.post("/logout")).status, 204);
  assert.equal((await ann.get("/me")).status, 401);
});

test("an account logs in with its password alone, in any spelling of its address", async () => {
  await signUp("bob");
  assert.equal((await signUp("bob")).status, 409);
  const logIn = (given: string) => anonymous.post("/login", { json: { email: "Bob@Example.org", password: given } });
  assert.equal((await logIn(password)).status, 200);
  assert.equal((await logIn("a wrong password")).status, 401);
});

test("a project is visible to its owner alone", async () => {
  const cat = await clientOf("cat");
  const dan = await clientOf("dan");
  const added = await cat.post("/projects", { json: { name: "Moon" } });
  assert.equal(added.status, 201);
  const { id } = await added.json();
  assert.equal((await cat.post("/projects", { json: { name: "Moon" } })).status, 409);
  for (const name of ["", "a\0b"]) assert.equal((await cat.post("/projects", { json: { name } })).status, 422);
  assert.equal((await cat.get(`/projects/${id}`)).status, 200);
  assert.equal((await dan.get(`/projects/${id}`)).status, 404);
  assert.deepEqual(await (await dan.get("/projects")).json(), []);
  assert.equal((await dan.delete(`/projects/${id}`)).status, 404);
  assert.equal((await cat.delete(`/projects/${id}`)).status, 204);
});

test("requests without a token get 401", async () => {
  for (const path of ["/me", "/projects"]) assert.equal((await anonymous.get(path)).status, 401);
});

test("after LOGINS_PER_MINUTE attempts an address has to wait", async () => {
  let response = await anonymous.post("/login", { json: {} });
  for (let attempt = 1; attempt <= 8 && response.status !== 429; attempt++) {
    response = await anonymous.post("/login", { json: {} });
  }
  assert.equal(response.status, 429);
});
