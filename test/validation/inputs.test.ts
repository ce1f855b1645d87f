import { App, HttpError, type StandardSchema } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const json = { "content-type": "application/json" };

describe("headers with a schema", () => {
  it("A schema for headers gets the headers that it names, in its spelling", async () => {
    const app = new App();
    const headers = z.strictObject({ "X-Tenant": z.string(), "x-ids": z.array(z.int()).optional() });
    app.get("/", { headers }, (_request, injected) => injected.headers);
    await using server = await serve(app);
    const response = await fetch(server.url, { headers: { "x-tenant": "a", "X-Ids": "1, 2" } });
    expect(await response.json()).toEqual({ "X-Tenant": "a", "x-ids": [1, 2] });
    const refused = await fetch(server.url);
    expect(((await refused.json()) as { detail: { loc: unknown }[] }).detail[0]?.loc).toEqual(["headers", "X-Tenant"]);
  });

  it("An open schema for headers gets all headers, in lower case", async () => {
    const app = new App();
    app.get("/", { headers: z.looseObject({ "x-a": z.string() }) }, (_request, { headers }) => headers);
    const answer = await (await app.request("/", { headers: { "X-A": "1", "X-B": "2" } })).json();
    expect(answer).toMatchObject({ "x-a": "1", "x-b": "2" });
  });
});

describe("params with a schema", () => {
  it("Path parameters are coerced by their schema, while the request keeps the text", async () => {
    const app = new App();
    app.get("/{id}/{rest:*}", { params: z.object({ id: z.int(), rest: z.string() }) }, (request, { params }) => ({
      ...params,
      text: request.params.id,
    }));
    expect(await (await app.request("/07/1/2")).json()).toEqual({ id: 7, rest: "1/2", text: "07" });
    expect((await app.request("/x/1")).status).toBe(422);
  });

  it("Path parameters are checked before a WebSocket opens", async () => {
    const app = new App();
    app.websocket("/{id}", { params: z.object({ id: z.int() }) }, async (socket, { params }) => {
      await socket.sendJson(params);
    });
    await using server = await serve(app);
    const upgrade = { connection: "Upgrade", upgrade: "websocket" };
    const { request } = await import("node:http");
    const status = await new Promise((resolve, reject) => {
      request(`${server.url}/x`, {
        headers: { ...upgrade, "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
      })
        .on("response", (response) => resolve(response.statusCode))
        .on("upgrade", () => resolve(101))
        .on("error", reject)
        .end();
    });
    expect(status).toBe(422);
  });
});

describe("a body with a schema", () => {
  const post = (app: App, body: string, headers: Record<string, string> = json): Promise<Response> =>
    app.request("/", { method: "POST", body, headers });

  it("A body that is not JSON is 400, whatever else is wrong", async () => {
    const app = new App();
    app.post("/", { body: z.object({}), query: z.object({ page: z.int() }) }, () => "");
    const response = await app.request("/?page=x", { method: "POST", body: "{", headers: json });
    expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/problem+json"]);
  });

  it("An absent body is undefined if the schema accepts that, otherwise 400", async () => {
    const app = new App();
    app.post("/", { body: z.object({ a: z.number() }).optional() }, (_request, { body }) => ({ body: body ?? "none" }));
    expect(await (await post(app, "")).json()).toEqual({ body: "none" });
    expect(await (await post(app, "", {})).json()).toEqual({ body: "none" });
    expect((await post(app, '{"a":"x"}')).status).toBe(422);

    const strict = new App();
    strict.post("/", { body: z.object({ a: z.number() }) }, () => "");
    expect(await (await post(strict, "")).json()).toMatchObject({ type: "/errors/empty-body", status: 400 });
    const later = new App();
    later.post("/", { body: z.object({}).refine(async () => true) }, () => "");
    expect((await post(later, "")).status).toBe(400);
  });

  it("A schema for the body or a form is refused on a route that streams the body", async () => {
    const streaming = new App();
    streaming.post("/", { body: z.object({}), stream: true }, () => "");
    await expect(streaming.start()).rejects.toThrow("POST / has 'stream: true', so it runs before the body is read");
    const form = new App().post("/", { form: z.object({}), stream: true }, () => "");
    await expect(form.start()).rejects.toThrow("'form' cannot be validated");
  });

  it("Inputs other than the body are validated on routes that stream it", async () => {
    const app = new App();
    const Page = z.object({ page: z.coerce.number() });
    app.post("/", { query: Page, stream: true }, (_request, { query }) => query);
    expect(await (await app.request("/?page=2", { method: "POST" })).json()).toEqual({ page: 2 });
    expect((await app.request("/?page=x", { method: "POST" })).status).toBe(422);
    const twice = new App();
    twice.post("/", { body: z.object({}), form: z.object({}) }, () => "");
    await expect(twice.start()).rejects.toThrow("POST / has both a 'body' and a 'form'");
  });

  it("An asynchronous check leaves no unhandled rejection if another check throws", async () => {
    const failing: StandardSchema = {
      "~standard": { version: 1, vendor: "own", validate: () => Promise.reject(new Error("late")) },
    };
    const app = new App();
    app.post("/", { query: failing, body: z.object({}) }, () => "");
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      expect((await app.request("/?a=1", { method: "POST", body: "{", headers: json })).status).toBe(400);
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  it("Validation stays synchronous if the schemas are", async () => {
    const order: string[] = [];
    const app = new App();
    app.use({
      before: () => {
        queueMicrotask(() => order.push("microtask"));
      },
    });
    app.post("/", { body: z.object({}), query: z.object({}) }, () => void order.push("handler"));
    await post(app, "{}");
    expect(order).toEqual(["handler", "microtask"]);
  });
});

describe("a form with a schema", () => {
  const Upload = z.object({
    title: z.string(),
    count: z.int(),
    draft: z.boolean().default(false),
    files: z.array(z.file()),
  });

  it("A form schema accepts fields, numbers, checkboxes and files", async () => {
    const app = new App();
    app.post("/", { form: Upload }, async (_request, { form }) => ({
      ...form,
      files: await Promise.all(form.files.map(async (file) => [file.name, file.type, await file.text()])),
    }));
    const body = new FormData();
    body.set("title", "Emma");
    body.set("count", "3");
    body.set("draft", "on");
    body.append("files", new File(["one"], "a.txt", { type: "text/plain" }));
    body.append("files", new File(["two"], "b.txt", { type: "text/plain" }));
    expect(await (await app.request("/", { method: "POST", body })).json()).toEqual({
      title: "Emma",
      count: 3,
      draft: true,
      files: [
        ["a.txt", "text/plain", "one"],
        ["b.txt", "text/plain", "two"],
      ],
    });
  });

  it("A form with a schema can be url-encoded, and its errors name 'form'", async () => {
    const app = new App();
    app.post("/", { form: z.object({ stars: z.int().max(5) }) }, (_request, { form }) => form);
    const send = (stars: string) => app.request("/", { method: "POST", body: new URLSearchParams({ stars }) });
    expect(await (await send("4")).json()).toEqual({ stars: 4 });
    expect(await (await send("9")).json()).toMatchObject({ detail: [{ loc: ["form", "stars"], type: "too_big" }] });
    const wrong = await app.request("/", { method: "POST", body: "{}", headers: json });
    expect(wrong.status).toBe(415);
  });
});

describe("a validator of bodies", () => {
  const bodyValidator = Symbol.for("stoa.bodyValidator");

  it("A validator of bodies gets the bytes, and responds with its own status", async () => {
    const Model = {
      [bodyValidator]: (bytes: Uint8Array) =>
        bytes.length > 2
          ? { value: { size: bytes.length } }
          : { issues: [{ loc: ["title"], msg: "Field required", type: "missing" }], status: 400 },
    } as never;
    const app = new App();
    app.post("/", { body: Model }, (_request, { body }) => body);
    const send = (body: string, headers = json) => app.request("/", { method: "POST", body, headers });
    expect(await (await send("not json")).json()).toEqual({ size: 8 });
    const refused = await send("{}");
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { detail: [{ loc: ["title"], msg: "Field required", type: "missing" }] },
    ]);
    expect((await send("abc", { "content-type": "text/plain" })).status).toBe(415);
  });

  it("A validator of bodies can be asynchronous, and its issues are listed with those of schemas", async () => {
    const Model = {
      [bodyValidator]: async () => ({ issues: [{ loc: ["a"], msg: "no", type: "t" }], status: 400 }),
    } as never;
    const app = new App();
    app.post("/", { body: Model, query: z.object({ page: z.int() }) }, () => "");
    const response = await app.request("/", { method: "POST", body: "{}", headers: json });
    expect(response.status).toBe(422);
    expect(((await response.json()) as { detail: { loc: unknown }[] }).detail.map(({ loc }) => loc)).toEqual([
      ["query", "page"],
      ["a"],
    ]);
  });
});

describe("an exception handler", () => {
  it("An exception handler can change the form of validation errors", async () => {
    const app = new App();
    const schema: StandardSchema = z.object({ a: z.number() });
    app.post("/", { body: schema }, () => "");
    app.exceptionHandler(HttpError, (_request, error) => ({ failed: error.status }));
    const response = await app.request("/", { method: "POST", body: "{}", headers: json });
    expect(await response.json()).toEqual({ failed: 422 });
  });
});
