import { ApiKeyAuth, App, Authenticated } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Any, documentOf, operationOf } from "./document-of.js";

describe("responses", () => {
  const responses = async (options: object, method: "get" | "post" = "get"): Promise<Any> =>
    (await operationOf((app) => app[method]("/", options, (() => {}) as never))).responses;

  it("The documented response has the route's status and schema", async () => {
    const found = await responses({ status: 201, response: z.object({ at: z.date() }) });
    expect(found["201"]).toEqual({
      description: "Created",
      content: {
        "application/json": {
          schema: { type: "object", properties: { at: { type: "string", format: "date-time" } }, required: ["at"] },
        },
      },
    });
    expect((await responses({ response: z.string() }))["200"].content).toEqual({
      "text/plain": { schema: { type: "string" } },
    });
    expect((await responses({ response: z.void() }))["204"]).toEqual({ description: "No Content" });
    expect(Object.keys(await responses({ response: z.any() }))).toEqual(["200", "500"]);
    expect((await responses({}))["200"]).toEqual({ description: "OK" });
  });

  it("A media type alone documents a file or a stream", async () => {
    const found = await responses({ responses: { 200: { description: "The cover", contentType: "image/png" } } });
    expect(found["200"]).toEqual({ description: "The cover", content: { "image/png": {} } });
  });

  it("A route can document further responses", async () => {
    const found = await responses({
      responses: {
        200: "All is well",
        202: { description: "Later", example: { id: 1 } },
        404: "No such book",
        409: z.object({ error: z.string() }),
        418: { schema: z.string(), content_type: "text/html" },
        500: false,
      },
    });
    expect(Object.keys(found)).toEqual(["200", "202", "404", "409", "418"]);
    expect(found["200"]).toEqual({ description: "All is well" });
    expect(found["202"]).toEqual({ description: "Later", content: { "application/json": { example: { id: 1 } } } });
    expect(found["404"]).toMatchObject({
      description: "No such book",
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
    });
    expect(found["409"].content["application/json"].schema).toMatchObject({ type: "object" });
    expect(Object.keys(found["418"].content)).toEqual(["text/html"]);
  });

  it("The framework's errors are documented where they apply, and shared", async () => {
    const document = await documentOf((app) => {
      app.get("/plain", () => "");
      app.get("/{id}", () => "");
      app.post("/body", { body: z.object({}) }, () => "");
      app.get("/query", { query: z.object({ a: z.int() }) }, () => "");
      app.get("/guarded", { guards: [Authenticated()] }, () => "");
      app.get("/limited", { rateLimit: { maxRequests: 1, windowSecs: 1 }, circuitBreaker: true }, () => "");
    });
    const statuses = Object.fromEntries(
      Object.entries(document.paths).map(([path, item]: Any) => [
        path,
        Object.keys((Object.values(item)[0] as Any).responses),
      ]),
    );
    expect(statuses).toEqual({
      "/plain": ["200", "500"],
      "/{id}": ["200", "404", "500"],
      "/body": ["200", "400", "413", "415", "422", "500"],
      "/query": ["200", "422", "500"],
      "/guarded": ["200", "401", "403", "500"],
      "/limited": ["200", "429", "500", "503"],
    });
    expect(Object.keys(document.components.responses)).toEqual([
      "BadRequest",
      "Forbidden",
      "InternalServerError",
      "NotFound",
      "PayloadTooLarge",
      "ServiceUnavailable",
      "TooManyRequests",
      "Unauthorized",
      "UnsupportedMediaType",
      "ValidationFailed",
    ]);
  });

  it("Responses of enabled features are documented on every route that does not opt out", async () => {
    const { paths } = await documentOf((app) => {
      app.enableRateLimit().enableCircuitBreaker().enableCsrf();
      app.get("/a", () => "").post("/a", { rateLimit: false, circuitBreaker: false }, () => "");
    });
    expect(Object.keys(paths["/a"].get.responses)).toEqual(["200", "429", "500", "503"]);
    expect(Object.keys(paths["/a"].post.responses)).toEqual(["200", "403", "500"]);
  });
});

describe("errors as documented", () => {
  it("The documented errors are the framework's actual responses", async () => {
    const app = new App().enableOpenapi();
    app.use(new ApiKeyAuth({ key: "name" }).skipPath("/openapi.json", "/open"));
    app.post("/open/{id}", { body: z.object({ a: z.number() }) }, () => {
      throw new Error("no");
    });
    app.get("/closed", () => "");
    const { components } = (await (await app.request("/openapi.json")).json()) as Any;
    const schemaOf = (name: string, type: string): z.ZodType => {
      const ref = components.responses[name].content[type].schema.$ref as string;
      const { [ref.split("/").at(-1)!]: schema } = components.schemas;
      // zod takes a uri-reference for an absolute address.
      return z.fromJSONSchema(JSON.parse(JSON.stringify(schema).replaceAll('"format":"uri-reference",', "")));
    };
    const post = (body: string) =>
      app.request("/open/1", { method: "POST", body, headers: { "content-type": "application/json" } });
    const answers: [Response, string][] = [
      [await post("{"), "BadRequest"],
      [await post("{}"), "ValidationFailed"],
      [await post('{"a":1}'), "InternalServerError"],
      [await app.request("/closed"), "Unauthenticated"],
    ];
    for (const [response, name] of answers) {
      const schema = schemaOf(name, response.headers.get("content-type")!);
      expect(schema.safeParse(await response.json()).success).toBe(true);
      expect(schema.safeParse({ wrong: 1 }).success).toBe(false);
    }
  });
});
