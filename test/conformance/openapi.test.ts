import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { served, transports } from "./support.js";

function api(): App {
  const app = new App();
  const Book = z.object({ title: z.string(), year: z.number().int() });
  app.get("/books", { tags: ["books"], summary: "List", description: "All of them" }, () => []);
  app.post("/books", { body: Book }, (_request, { body }) => body);
  return app.enable_openapi("Books", "2.0.0");
}

describe.each(transports)("enable_openapi over %s", (transport) => {
  const { get, post } = served(api, transport);

  it("The paths /docs and /redoc respond with pages", async () => {
    for (const path of ["/docs", "/redoc"]) {
      const page = await get(path);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.text).toContain("<title>Books</title>");
    }
  });

  it("The path /openapi.json responds with the schema, including tags, summary and description", async () => {
    const { status, json } = await get("/openapi.json");
    expect(status).toBe(200);
    expect(json.info).toEqual({ title: "Books", version: "2.0.0" });
    expect(json.paths["/books"].get).toMatchObject({ tags: ["books"], summary: "List", description: "All of them" });
  });

  it("The documentation does not exist unless it is enabled", async () => {
    const plain = new App();
    for (const path of ["/docs", "/redoc", "/openapi.json"]) expect((await plain.request(path)).status).toBe(404);
  });

  it("A validation failure is 422 with a list of exactly loc, msg and type", async () => {
    const { status, json } = await post("/books", { year: 1.5 });
    expect(status).toBe(422);
    expect(Object.keys(json)).toEqual(["detail"]);
    expect(json.detail).toHaveLength(2);
    for (const item of json.detail) {
      expect(Object.keys(item).sort()).toEqual(["loc", "msg", "type"]);
      expect([Array.isArray(item.loc), typeof item.msg, typeof item.type]).toEqual([true, "string", "string"]);
    }
  });

  it("Malformed JSON is a 400 response", async () => {
    expect((await post("/books", '{"title": ')).status).toBe(400);
  });
});
