import { App, MemorySessionStore } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const types = ["application/x-www-form-urlencoded", "text/plain", "application/json garbage"];

function post(app: App, path: string, type: string): Promise<Response> {
  return app.request(path, { method: "POST", body: '{"title":"Emma"}', headers: { "content-type": type } });
}

function books(): App {
  const app = new App();
  app.post("/books", { status: 201 }, (request) => request.json<{ title: string }>());
  app.post("/checked", { body: z.object({ title: z.string() }), status: 201 }, (_request, { body }) => body);
  return app;
}

describe("request.json()", () => {
  it.each(types)("request.json() parses a body of type %s", async (type) => {
    const response = await post(books(), "/books", type);
    expect([response.status, await response.json()]).toEqual([201, { title: "Emma" }]);
  });

  it.each(types)("A route with a body schema is strict: 415 for %s", async (type) => {
    const app = books();
    expect((await post(app, "/checked", type)).status).toBe(415);
    expect((await post(app, "/checked", "application/json")).status).toBe(201);
  });

  it.each(types)("request.json() is strict in an application with sessions: 415 for %s", async (type) => {
    for (const options of [{ secret: "a secret of at least 32 characters" }, { store: new MemorySessionStore() }]) {
      const app = books();
      app.enableSessions(options);
      expect((await post(app, "/books", type)).status).toBe(415);
      expect((await post(app, "/books", "application/json")).status).toBe(201);
    }
  });
});

describe("request.path", () => {
  it("request.path is the path that routes match, so that escapes cannot bypass a middleware", async () => {
    const app = new App();
    const seen: [path: string, target: string][] = [];
    app.use((request, next) => {
      seen.push([request.path, request.target]);
      return request.path.startsWith("/admin") || request.path.startsWith("/café@b") ? "stopped" : next();
    });
    app.get("/admin/{name}", () => "secret");
    app.get("/café@b", () => "secret");
    for (const target of ["/admin/a", "/%61dmin/a", "/%61%64%6D%69%6e/a?x=%61", "/caf%c3%A9%40b"]) {
      expect([target, await (await app.request(target)).text()]).toEqual([target, "stopped"]);
    }
    expect(seen.slice(1)).toEqual([
      ["/admin/a", "/%61dmin/a"],
      ["/admin/a", "/%61%64%6D%69%6e/a?x=%61"],
      ["/café@b", "/caf%c3%A9%40b"],
    ]);
  });

  it("Each path parameter is decoded exactly once", async () => {
    const app = new App();
    app.get("/files/{name}", (request) => request.params.name);
    const text = async (target: string) => {
      const response = await app.request(target);
      return response.status === 200 ? response.text() : response.status;
    };
    expect(await text("/files/a%2Fb")).toBe("a/b");
    expect(await text("/files/%2541")).toBe("%41");
    expect(await text("/files/%252525")).toBe("%2525");
    expect(await text("/files/%C3%A9%2f%C3%A9")).toBe("é/é");
    expect(await text("/files/%ff")).toBe(400);
    expect(await text("/files/%zz")).toBe(400);
  });
});
