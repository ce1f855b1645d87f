import { testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { authApp } from "../../examples/auth/app.js";
import { sessionsApp } from "../../examples/sessions/app.js";

describe("the auth example", () => {
  it("The auth example logs in, identifies the user, refreshes and logs out", async () => {
    const client = testClient(await authApp());
    const login = async (name: string, password: string): Promise<Response> =>
      client.post("/login", { form: { name, password } });
    expect((await login("ada", "wrong")).status).toBe(401);
    expect((await login("nobody", "lovelace")).status).toBe(401);
    const { token } = (await (await login("ada", "lovelace")).json()) as { token: string };
    const as = (bearer: string) => ({ headers: { authorization: `Bearer ${bearer}` } });
    expect((await client.get("/me")).status).toBe(401);
    expect(await (await client.get("/me", as(token))).json()).toEqual({ name: "ada", role: "admin" });
    expect((await client.get("/admin", as(token))).status).toBe(200);
    const refreshed = (await (await client.post("/refresh", as(token))).json()) as { token: string };
    expect((await client.get("/me", as(token))).status).toBe(401);
    expect((await client.get("/me", as(refreshed.token))).status).toBe(200);
    expect((await client.post("/logout", as(refreshed.token))).status).toBe(204);
    expect((await client.get("/me", as(refreshed.token))).status).toBe(401);
  });

  it("The auth example refuses readers at routes for administrators, and accepts the other service", async () => {
    const client = testClient(await authApp());
    const response = await client.post("/login", { form: { name: "bob", password: "builder" } });
    const { token } = (await response.json()) as { token: string };
    expect((await client.get("/admin", { headers: { authorization: `Bearer ${token}` } })).status).toBe(403);
    const headers = { "x-api-key": "reports-key-for-development" };
    expect(await (await client.get("/me", { headers })).json()).toEqual({ name: "reports", role: "service" });
  });
});

describe("the sessions example", () => {
  it("The sessions example remembers the user, and accepts only its own forms", async () => {
    const client = testClient(sessionsApp());
    const token = async (): Promise<string> =>
      /name="_csrf" value="([^"]+)"/.exec(await (await client.get("/")).text())?.[1] ?? "";
    expect((await client.post("/login", { form: { name: "ada" } })).status).toBe(403);
    const login = await client.post("/login", { form: { name: "<ada>", _csrf: await token() } });
    expect([login.status, login.headers.get("location")]).toEqual([303, "/"]);
    await client.post("/notes", { form: { note: "read <Emma>", _csrf: await token() } });
    const page = await (await client.get("/")).text();
    expect(page).toContain("Hello, &#60;ada&#62;.");
    expect(page).toContain("<li>read &#60;Emma&#62;</li>");
    await client.post("/logout", { form: { _csrf: await token() } });
    expect(await (await client.get("/")).text()).toContain("Log in");
  });
});
