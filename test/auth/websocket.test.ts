import { AnyAuth, ApiKeyAuth, App, Authenticated, JwtAuth, Role } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { Client } from "../websocket/client.js";
import { secret } from "./tokens.js";

function socketApp(jwt: JwtAuth): App {
  const app = new App().use(new AnyAuth(jwt, new ApiKeyAuth({ k: "billing" })));
  app.websocket("/live", { protocols: ["bearer"], guards: [Authenticated()] }, async (socket) => {
    await socket.sendJson(socket.context.jwt_claims ?? socket.context.api_key_name ?? null);
    await socket.recv();
  });
  app.websocket("/admin", { guards: [Role("admin")] }, async (socket) => {
    await socket.sendText("in");
    await socket.recv();
  });
  return app;
}

describe.each(["net", "node"] as const)("a WebSocket route over %s", (transport) => {
  it("A WebSocket opens only for clients that pass authentication and guards", async () => {
    const jwt = new JwtAuth({ secret });
    await using server = await serve(socketApp(jwt), { transport });
    const url = server.url.replace("http", "ws");
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    await expect(Client.connect(`${url}/live`)).rejects.toThrow("401");
    await expect(Client.connect(`${url}/live`, as("x.y.z"))).rejects.toThrow("401");
    await expect(Client.connect(`${url}/admin`, as(jwt.createToken({ role: "user" })))).rejects.toThrow("403");
    using user = await Client.connect(`${url}/live`, as(jwt.createToken({ sub: "ada" })));
    expect(JSON.parse(String(await user.next()))).toMatchObject({ sub: "ada" });
    using service = await Client.connect(`${url}/live`, { headers: { "x-api-key": "k" } });
    expect(await service.next()).toBe('"billing"');
    using admin = await Client.connect(`${url}/admin`, as(jwt.createToken({ role: "admin" })));
    expect(await admin.next()).toBe("in");
  });

  it("The token of a page is accepted as the second subprotocol, and not sent back", async () => {
    const jwt = new JwtAuth({ secret });
    await using server = await serve(socketApp(jwt), { transport });
    const url = server.url.replace("http", "ws");
    using page = await Client.connect(`${url}/live`, {}, ["bearer", jwt.createToken({ sub: "page" })]);
    expect([page.ws.protocol, JSON.parse(String(await page.next()))]).toMatchObject(["bearer", { sub: "page" }]);
    await expect(Client.connect(`${url}/live`, {}, ["bearer"])).rejects.toThrow("401");
    await expect(Client.connect(`${url}/live`, {}, ["bearer", "x.y.z"])).rejects.toThrow("401");
    await expect(Client.connect(`${url}/live`, {}, [jwt.createToken(), "bearer"])).rejects.toThrow("401");
  });

  it("A token among subprotocols is accepted only for a WebSocket", async () => {
    const jwt = new JwtAuth({ secret });
    const app = new App().use(jwt);
    app.get("/", () => "in");
    await using server = await serve(app, { transport });
    const response = await fetch(server.url, { headers: { "sec-websocket-protocol": `bearer, ${jwt.createToken()}` } });
    expect(response.status).toBe(401);
  });
});
