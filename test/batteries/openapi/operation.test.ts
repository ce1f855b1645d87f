import { App, Blueprint } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Any, documentOf, operationOf } from "./document-of.js";

/** An integer beyond this range is refused. */
const safeInteger = {
  type: "integer",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  examples: [1],
};

describe("an operation", () => {
  it("An operation has the options of its route and its blueprints", async () => {
    const { paths, tags } = await documentOf(
      (app) => {
        const inner = new Blueprint("/inner", { tags: ["inner", "shared"] });
        inner.get(
          "/x",
          { tags: ["own", "shared"], summary: "Short", description: "Long", deprecated: true, operationId: "mine" },
          () => "",
        );
        app.registerBlueprint(new Blueprint("/outer", { tags: ["outer"] }).registerBlueprint(inner));
      },
      { tags: { own: "What is mine" } },
    );
    expect(paths["/outer/inner/x"].get).toMatchObject({
      tags: ["outer", "inner", "shared", "own"],
      summary: "Short",
      description: "Long",
      deprecated: true,
      operationId: "mine",
    });
    expect(tags).toEqual([
      { name: "own", description: "What is mine" },
      { name: "outer" },
      { name: "inner" },
      { name: "shared" },
    ]);
  });

  it("An operation is named after its method and path, and no two names are equal", async () => {
    const { paths } = await documentOf((app) => {
      app.get("/", () => "").get("/users/{user}/books/{book-id}", () => "");
      app
        .get("/a-b", () => "")
        .get("/aB", () => "")
        .get("/files/{rest:*}", () => "");
      app.route("/both", { methods: ["PUT", "POST"], operationId: "both" }, () => "");
    });
    const ids = Object.values(paths as Any).flatMap((item: Any) =>
      Object.values(item).map((op: Any) => op.operationId),
    );
    expect(ids).toEqual([
      "getRoot",
      "getUsersByUserBooksByBookId",
      "getAB",
      "getAB_2",
      "getFilesByRest",
      "both_put",
      "both_post",
    ]);
  });

  it("An operationId that another operation has is refused", async () => {
    const app = new App().enableOpenapi();
    app.get("/a", { operationId: "same" }, () => "").get("/b", { operationId: "same" }, () => "");
    await expect(app.start()).rejects.toThrow("the operationId 'same' of GET /b is that of GET /a too");
  });

  it("An operation can have extra members", async () => {
    const found = await operationOf((app) =>
      app.post("/", { openapi: { "x-a": 1, responses: { 200: { description: "Fine" } } } }, () => ""),
    );
    expect(found).toMatchObject({ "x-a": 1, responses: { 200: { description: "Fine" }, 500: {} } });
  });

  it("Parameters that a route lists itself are added to the generated ones, and replace those of the same name", async () => {
    const described = (name: string, place: string) => ({ name, in: place, description: "By hand", schema: {} });
    const shared = { $ref: "#/components/parameters/Page" };
    const headers = z.object({ "x-trace": z.string().optional() });
    const found = await operationOf((app) =>
      app.get(
        "/books/{id}",
        { headers, openapi: { parameters: [described("X-Trace", "header"), described("id", "query"), shared] } },
        () => "",
      ),
    );
    expect(found.parameters).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      described("X-Trace", "header"),
      described("id", "query"),
      shared,
    ]);
  });

  it("Operations whose parameter names alone differ share one path template", async () => {
    const { paths } = await documentOf((app) => {
      app
        .get("/books/{id}", () => "")
        .put("/books/{isbn}", () => "")
        .get("/books/{rest:*}", () => "");
    });
    expect(Object.keys(paths)).toEqual(["/books/{id}"]);
    expect(Object.keys(paths["/books/{id}"])).toEqual(["get", "put"]);
    expect(paths["/books/{id}"].put.parameters[0].name).toBe("id");
    expect(paths["/books/{id}"].get.operationId).toBe("getBooksById");
  });

  it("An operation of a method that OpenAPI does not know is an extension", async () => {
    const { paths } = await documentOf((app) => app.route("/dav", ["PROPFIND"], () => ""));
    expect(paths["/dav"]["x-additionalOperations"].PROPFIND.operationId).toBe("propfindDav");
  });
});

describe("WebSocket routes", () => {
  it("WebSocket routes are listed in an extension", async () => {
    const document = await documentOf((app) => {
      app.websocket(
        "/room/{name}",
        { summary: "Talk", tags: ["chat"], query: z.object({ since: z.int().optional() }) },
        () => {},
      );
    });
    expect(document.paths).toEqual({});
    expect(document["x-websockets"]).toEqual({
      "/room/{name}": {
        tags: ["chat"],
        summary: "Talk",
        parameters: [
          { name: "name", in: "path", required: true, schema: { type: "string" } },
          { name: "since", in: "query", required: false, schema: safeInteger },
        ],
      },
    });
  });
});
