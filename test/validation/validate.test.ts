import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { validationStep } from "../../src/validation/validate.js";

it("A route without schemas has no validation step", () => {
  expect(validationStep({}, "GET /")).toBeNull();
  expect(validationStep({ stream: true }, "GET /")).toBeNull();
});

describe("schemas", () => {
  const app = new App();
  const Book = z.object({ title: z.string(), year: z.number().int().default(2000) });
  app.post(
    "/books/{id}",
    { body: Book, query: z.object({ page: z.coerce.number() }), params: z.object({ id: z.coerce.number() }) },
    (_request, { body, query, params }) => ({ body, query, params }),
  );
  const post = (path: string, body: unknown, type = "application/json") =>
    app.request(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": type } });

  it("The handler gets the output of the schemas", async () => {
    expect(await (await post("/books/7?page=2", { title: "Emma", extra: 1 })).json()).toEqual({
      body: { title: "Emma", year: 2000 },
      query: { page: 2 },
      params: { id: 7 },
    });
  });

  it("A body of more than 128 levels gives 400 with the error of the contract", async () => {
    const nested = (levels: number) => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`) as unknown;
    const response = await post("/books/7?page=2", { title: "Emma", extra: nested(128) });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      detail: [{ loc: ["body"], msg: "Invalid JSON body", type: "value_error.json" }],
    });
    expect((await post("/books/7?page=2", { title: "Emma", extra: nested(127) })).status).toBe(200);
  });

  it("Broken schemas give 422 with all errors at once, by place, without the input", async () => {
    const response = await post("/books/x?page=hello", { year: 1.5 });
    expect(response.status).toBe(422);
    const { detail } = (await response.json()) as { detail: { loc: unknown[]; msg: string }[] };
    expect(detail.map((issue) => issue.loc)).toEqual([
      ["params", "id"],
      ["query", "page"],
      ["body", "title"],
      ["body", "year"],
    ]);
    for (const issue of detail) expect(Object.keys(issue).sort()).toEqual(["loc", "msg", "type"]);
    expect(JSON.stringify(detail)).not.toContain("hello");
  });

  it("An odd content type does not bypass the schemas", async () => {
    for (const type of ["application/json garbage", "application/json\ta", "text/plain", "application/jsonx"]) {
      expect((await post("/books/1?page=1", { title: 5 }, type)).status).toBe(415);
    }
    expect((await post("/books/1?page=1", { title: 5 }, "application/json; charset=utf-8")).status).toBe(422);
  });

  it("A schema can be asynchronous", async () => {
    const other = new App();
    const Taken = z.object({ name: z.string().refine(async (name) => name !== "taken", "is taken") });
    other.post("/", { body: Taken }, (_request, { body }) => body.name);
    const send = (name: string) =>
      other.request("/", {
        method: "POST",
        body: JSON.stringify({ name }),
        headers: { "content-type": "application/json" },
      });
    expect(await (await send("free")).text()).toBe("free");
    const refused = await send("taken");
    expect([refused.status, ((await refused.json()) as { detail: { msg: string }[] }).detail[0]?.msg]).toEqual([
      422,
      "is taken",
    ]);
  });

  it("An input schema that is not a schema is refused at the start", async () => {
    const other = new App();
    other.post("/", { body: { title: "string" } as never }, () => "");
    await expect(other.start()).rejects.toThrow("'body' of POST / must be a schema");
  });
});

describe("The route option anyContentType", () => {
  const body = z.object({ title: z.string() });
  const form = { method: "POST", body: '{"title":"a"}', headers: { "content-type": "text/plain" } };

  it("A route with anyContentType parses a body of another type as JSON", async () => {
    const app = new App();
    app.post("/any", { body, anyContentType: true }, (_request, injected) => injected.body);
    app.post("/strict", { body }, (_request, injected) => injected.body);
    expect((await app.request("/any", form)).status).toBe(200);
    expect((await app.request("/strict", form)).status).toBe(415);
    expect((await app.request("/any", { ...form, body: "{" })).status).toBe(400);
  });

  it("An application with sessions refuses another type than JSON in spite of anyContentType", async () => {
    const app = new App().enableSessions({ secret: "s".repeat(32) });
    app.post("/any", { body, anyContentType: true }, (_request, injected) => injected.body);
    expect((await app.request("/any", form)).status).toBe(415);
  });
});
