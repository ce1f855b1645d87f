import net from "node:net";
import { App, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { uuid as newId } from "../../../src/batteries/request-id/uuid.js";
import { wire } from "../support.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function idApp(): App {
  const app = new App().enableRequestId();
  app.get("/", (request) => ({ context: request.context.request_id, id: request.id }));
  return app;
}

describe("enableRequestId()", () => {
  it("Ids are UUIDs v4, and no two are the same", () => {
    const ids = Array.from({ length: 1000 }, newId);
    expect(ids.filter((id) => !uuid.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("A request gets a new UUID v4 in the context and in X-Request-ID", async () => {
    await using server = await wire(idApp());
    const first = await server.send("/");
    const second = await server.send("/");
    expect(first.get("x-request-id")).toMatch(uuid);
    expect(JSON.parse(first.text)).toEqual({ context: first.get("x-request-id"), id: first.get("x-request-id") });
    expect(second.get("x-request-id")).not.toBe(first.get("x-request-id"));
  });

  it.each([
    "abc-123",
    "0b9c6e9e-0000-1000-8000-000000000000",
    "a b",
    "trace:1/2;x=<y>",
    "x".repeat(4000),
    "a, b",
    "a\tb",
  ])("The request id %j of a client is kept", async (id) => {
    await using server = await wire(idApp());
    const response = await server.send("/", { headers: { "X-Request-ID": id } });
    expect(response.get("x-request-id")).toBe(id);
    expect(JSON.parse(response.text).context).toBe(id);
  });

  it("A request id with bytes beyond ASCII is kept", async () => {
    const app = new App().enableRequestId();
    app.get("/", () => "x");
    await using server = await wire(app);
    const response = await server.send("/", { headers: { "X-Request-ID": "caf\u00e9" } });
    expect(response.get("x-request-id")).toBe("caf\u00e9");
  });

  it("An empty request id is replaced by a new one", async () => {
    await using server = await wire(idApp());
    const response = await server.send("/", { headers: { "X-Request-ID": "" } });
    expect(response.get("x-request-id")).toMatch(uuid);
  });

  it("Two request ids of a client are replaced by one", async () => {
    await using server = await wire(idApp());
    const response = await server.send("/", { headers: { "X-Request-ID": ["one", "two"] } });
    expect(response.all("x-request-id")).toEqual([expect.stringMatching(uuid)]);
  });

  it("One request id is sent if the handler sets its own, or returns the same response again", async () => {
    const app = new App().enableRequestId();
    const same = new Response("x", {
      headers: [
        ["x-request-id", "upstream"],
        ["X-Request-Id", "twice"],
      ],
    });
    app.get("/", () => same);
    await using server = await wire(app);
    for (const id of ["one", "two"]) {
      const response = await server.send("/", { headers: { "X-Request-ID": id } });
      expect(response.all("x-request-id")).toEqual([id]);
    }
  });

  it("The request id is on errors and on preflights", async () => {
    const app = new App().enableCors().enable_request_id().enableRequestId();
    app.get("/throws", () => {
      throw new Error("broken");
    });
    await using server = await wire(app);
    const headers = { "X-Request-ID": "mine", Origin: "https://a.example", "Access-Control-Request-Method": "PUT" };
    expect((await server.send("/throws", { headers })).all("x-request-id")).toEqual(["mine"]);
    expect((await server.send("/nowhere", { headers })).all("x-request-id")).toEqual(["mine"]);
    expect((await server.send("/nowhere", { method: "OPTIONS", headers })).all("x-request-id")).toEqual(["mine"]);
  });

  it("A request id cannot inject a header", async () => {
    await using server = await wire(idApp());
    const socket = net.connect(server.server.address.port, "127.0.0.1");
    socket.end("GET / HTTP/1.1\r\nHost: a\r\nX-Request-ID: a\rSet-Cookie: b=c\r\n\r\n", "latin1");
    let text = "";
    for await (const piece of socket) text += String(piece);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).not.toContain("b=c");
  });
});
