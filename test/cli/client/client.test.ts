import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, type Logger } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { clientFile } from "../../../src/cli/client/client-file.js";
import { compileFiles } from "../../support/compiler.js";
import { bookshop } from "./bookshop.js";
import { type ApiClient, ApiError, type ClientOptions, createClient, isApiError } from "./fixtures/bookshop-client.js";

const fixtures = join(import.meta.dirname, "fixtures");

describe("the file", () => {
  it("The client of an application is as expected, and in ASCII", async () => {
    const text = clientFile(await bookshop().openapi());
    expect(text).toMatch(/^[\n\x20-\x7e]+$/);
    // `npx vitest run test/cli/client -u` writes it again.
    await expect(text).toMatchFileSnapshot(join(fixtures, "bookshop-client.ts"));
  });

  it.each([
    ["a server", { lib: ["ES2022"], types: ["node"] }],
    ["a browser", { lib: ["ES2022", "DOM"], types: [] }],
  ])("The client compiles with the strictest settings for %s, and wrong calls do not", async (_, target) => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-client-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const typeRoots = [join(import.meta.dirname, "../../../node_modules/@types")];
    const complaint = await compileFiles(folder, [join(fixtures, "uses.ts")], {
      ...target,
      typeRoots,
      target: "ES2022",
      module: "NodeNext",
      skipLibCheck: true,
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noPropertyAccessFromIndexSignature: true,
      noImplicitOverride: true,
      noImplicitReturns: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
      declaration: true,
      isolatedDeclarations: true,
    });
    expect(complaint).toBe("");
  });

  it("The order of routes makes no difference, and an application without routes has a client", async () => {
    const build = (...paths: string[]): App => {
      const app = new App();
      for (const path of paths) app.get(path, () => null);
      return app;
    };
    const [one, two, none] = [build("/a", "/b"), build("/b", "/a"), build()];
    expect(clientFile(await one.openapi())).toBe(clientFile(await two.openapi()));
    expect(clientFile(await none.openapi())).toContain("export interface Operations {\n}");
  });

  it("Schemas that TypeScript writes in other ways have their types", async () => {
    const document = await new App().openapi();
    const schemas = {
      "1.Odd-name": { type: "object", additionalProperties: { type: ["integer", "null"] } },
      string: { const: "a\u2028`b" },
      All: { allOf: [{ $ref: "#/components/schemas/string" }, { type: "object", properties: { "a b": {} } }] },
      Choice: {
        oneOf: [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, { enum: [1, null] }],
      },
      Pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: { type: "boolean" } },
      Open: { type: "object" },
      Many: { enum: Array.from({ length: 9 }, (_, index) => `a choice with the number ${index}`) },
      Never: { not: {} },
      Lost: { $ref: "#/components/schemas/Missing" },
      Old: { type: "string", deprecated: true, description: "Long\ngone." },
    };
    const text = clientFile({ ...document, components: { schemas } });
    const declarations = text.slice(text.indexOf("export"), text.indexOf("/** The operations"));
    expect(declarations).toMatchInlineSnapshot(`
      "export interface _1_Odd_name {
        [name: string]: number | null;
      }

      export type All = string_ & { "a b"?: unknown };

      export type Choice = (string | null)[] | 1 | null;

      export type Lost = unknown;

      export type Many =
        | "a choice with the number 0"
        | "a choice with the number 1"
        | "a choice with the number 2"
        | "a choice with the number 3"
        | "a choice with the number 4"
        | "a choice with the number 5"
        | "a choice with the number 6"
        | "a choice with the number 7"
        | "a choice with the number 8";

      export type Never = never;

      /**
       * Long
       * gone.
       * @deprecated
       */
      export type Old = string;

      export type Open = { [name: string]: unknown };

      export type Pair = [string, number, ...boolean[]];

      export type string_ = "a\\u2028\`b";

      "
    `);
  });
});

describe("requests", () => {
  it("Queries, params, bodies and header fields reach the server, and results have their types", async () => {
    const api = await open({ headers: async () => ({ Authorization: "Bearer 1", "X-Absent": undefined }) });
    expect(await api.get("/books")).toMatchObject({ books: [{ title: "Emma" }], limit: 20 });
    const asked = await api.get("/books", { query: { genre: undefined, tag: ["classic", "english"], limit: 5 } });
    expect(asked).toMatchObject({ books: [{ id: 1 }], limit: 5 });
    expect((await api.get("/books", { query: { tag: ["classic", "french"] } })).books).toEqual([]);
    const made = await api.post("/books", {
      body: { title: "Persuasion", publisher: { name: "M", "post-code": null } },
    });
    expect(made).toEqual({
      id: 2,
      title: "Persuasion",
      genre: "novel",
      tags: [],
      publisher: { name: "M", "post-code": null },
    });
    expect((await api.get("/books/{id}", { params: { id: 1 } })).title).toBe("Emma");
    expect(await api.delete("/books/{id}", { params: { id: "1" } })).toBeUndefined();
    expect(await api.get("/me", { headers: { "x-user": "ann" } })).toEqual({ user: "ann", token: "Bearer 1" });
    expect(await api.get("/search", { query: { a: "1 &", b: "\u00e9" } })).toEqual({ a: "1 &", b: "\u00e9" });
    expect(await api.get("/shelves")).toEqual({ name: "all", parts: [{ name: "left", parts: [] }] });
    const { items, next } = await api.get("/authors", { query: { id__in: [1, 2], size: 5 } });
    expect([items, next]).toEqual([[{ id: 1, name: "1,2", born: null }], null]);
    expect(await api.post("/authors", { body: { name: "Ann" } })).toMatchObject({ id: 1, name: "Ann" });
    expect(await api.patch("/authors/{id}", { params: { id: "1" }, body: { born: null } })).toEqual({ born: null });
  });

  it("Texts, files, forms with files and bodies of other types are sent and read", async () => {
    const api = await open();
    expect(await api.get("/books/{id}/text", { params: { id: "7/8?" } })).toBe("text of 7/8?");
    const cover = await api.get("/books/{id}/cover", { params: { id: "1" } });
    expect([cover.type, [...new Uint8Array(await cover.arrayBuffer())]]).toEqual(["image/png", [137, 80, 78, 71]]);
    const form = { caption: "front", cover: new File([new Uint8Array(3)], "a.png"), colors: ["red", "blue"] };
    const put = await api.put("/books/{id}/cover", { params: { id: "1" }, form });
    expect(put).toEqual({ caption: "front", size: 3, colors: ["red", "blue"] });
    const body = new Blob(["a,b"], { type: "text/csv" });
    expect(await api.post("/import", { body })).toEqual({ type: "text/csv", text: "a,b" });
  });

  it("Plain responses, addresses of links and of WebSockets are there too", async () => {
    const api = await open();
    const response = await api.raw("get", "/books/{id}", { params: { id: 99 } });
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    const link = api.url("/books", { query: { limit: 3, tag: ["a", "b"] } });
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/books\?limit=3&tag=a&tag=b$/);
    const socket = new WebSocket(api.socketUrl("/chat/{room}", { params: { room: "a b" }, query: { name: "ann" } }));
    const message = await new Promise((resolve, reject) => socket.on("message", resolve).on("error", reject));
    socket.close();
    expect(String(message)).toBe("a b ann");
  });

  it("A prefix of the address stays, and a param cannot lead to another path", async () => {
    const sent: string[] = [];
    const api = createClient({
      baseUrl: "https://a.test/v1/",
      fetch: async (url) => {
        sent.push(url);
        return new Response("1");
      },
    });
    await api.get("/files/{path}", { params: { path: "a/../b" } });
    expect(sent).toEqual(["https://a.test/v1/files/a%2F..%2Fb"]);
    for (const id of ["", ".", ".."]) {
      await expect(api.get("/books/{id}/text", { params: { id } })).rejects.toThrow(
        `the parameter id of /books/{id}/text must not be '${id}'`,
      );
    }
    await expect(createClient().get("/books")).rejects.toThrow("createClient() needs a baseUrl outside of a browser");
    expect(sent).toHaveLength(1);
    expect(await (await open()).get("/files/{path}", { params: { path: "a/b c" } })).toEqual({ path: "a/b c" });
  });
});

describe("errors", () => {
  it("An error has the status, the code, and a body with the type of the status", async () => {
    const api = await open();
    const wrong = await failure(api.post("/books", { body: { title: "" } }));
    if (!isApiError(wrong, "post", "/books") || wrong.status !== 422) throw wrong;
    expect(wrong.body.detail.map(({ loc }) => loc)).toEqual([["body", "title"]]);
    expect([wrong.code, wrong.operation, wrong.name]).toEqual(["HTTP_422", "POST /books", "ApiError"]);
    const taken = await failure(api.post("/books", { body: { title: "Emma" } }));
    if (!isApiError(taken, "post", "/books") || taken.status !== 409) throw taken;
    expect(taken.body.taken).toBe("Emma");
    const missing = await failure(api.get("/books/{id}", { params: { id: 99 } }));
    if (!isApiError(missing, "get", "/books/{id}") || missing.status !== 404) throw missing;
    expect([missing.code, missing.body.detail]).toEqual(["NO_SUCH_BOOK", "No book has this number."]);
    expect(missing.message).toBe("GET /books/{id}: 404 No book has this number.");
    expect(missing.headers.get("content-type")).toBe("application/problem+json");
    const broken = await failure(api.get("/broken"));
    expect(broken).toMatchObject({ status: 500, code: "HTTP_500", body: { status: 500 } });
    expect([isApiError(broken), isApiError(broken, "get", "/books"), isApiError(new Error())]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("An error that a proxy sends in place of the application has its text", async () => {
    const page = new Response("<h1>no</h1>", { status: 520, headers: { "Content-Type": "text/html" } });
    const text = new Response("{", { status: 520, headers: { "Content-Type": "application/json" } });
    const api = createClient({ baseUrl: "https://a.test", fetch: async () => page });
    expect(await failure(api.get("/books"))).toMatchObject({
      status: 520,
      body: "<h1>no</h1>",
      message: "GET /books: 520",
    });
    const other = createClient({ baseUrl: "https://a.test", fetch: async () => text });
    expect(await failure(other.get("/books"))).toMatchObject({ body: "{" });
  });
});

describe("event streams", () => {
  it("Events are read one by one, as JSON or as text", async () => {
    const api = await open();
    const prices = [];
    for await (const event of await api.get("/prices")) prices.push(event);
    expect(prices).toEqual([
      { data: { title: "Emma", cents: 950 }, event: "price", id: "7" },
      { data: { title: "Two\nlines", cents: 1 }, event: "message", id: "7" },
    ]);
    const lines = [];
    for await (const { data } of await api.get("/log")) lines.push(data);
    expect(lines).toEqual(["one\ntwo", "3"]);
  });

  it("Texts of a stream with a schema are no JSON", async () => {
    const api = await open();
    const colors: ("red" | "null")[] = [];
    for await (const { data } of await api.get("/colors")) colors.push(data);
    expect(colors).toEqual(["red", "null"]);
    const answers: ({ part: string } | "[DONE]")[] = [];
    for await (const { data } of await api.get("/answers")) answers.push(data);
    expect(answers).toEqual([{ part: "yes" }, "[DONE]"]);
  });

  it("Events are whole wherever the parts of a stream are split", async () => {
    const text = "\ufeff: hi\r\ndata:a\r\ndata:  \u00e9\r\n\r\nevent: x\rid: 1\rdata\r\rid: 2\0\ndata: b\n\ndata: lost";
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 2, 3, 5, bytes.length]) {
      const parts = new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
          controller.close();
        },
      });
      const response = new Response(parts, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
      const api = createClient({ baseUrl: "https://a.test", fetch: async () => response });
      const events = [];
      for await (const event of await api.get("/log")) events.push(event);
      expect(events).toEqual([
        { data: "a\n \u00e9", event: "message", id: "" },
        { data: "", event: "x", id: "1" },
        { data: "b", event: "message", id: "1" },
      ]);
    }
  });

  it("A reader that leaves or aborts ends the request", async () => {
    const seen: string[] = [];
    const api = await open({}, bookshop(seen));
    for await (const { data } of await api.get("/prices", { query: { endless: true } })) {
      expect(data.title).toBe("Emma");
      break;
    }
    await expect.poll(() => seen).toEqual(["left"]);
    const controller = new AbortController();
    const events = await api.get("/prices", { query: { endless: true }, signal: controller.signal });
    const read = async () => {
      for await (const { data } of events) if (data.title !== "Emma") controller.abort(new Error("enough"));
    };
    await expect(read()).rejects.toThrow("enough");
    await expect.poll(() => seen).toEqual(["left", "left"]);
  });
});

describe("aborts and retries", () => {
  it.each(["client", "call"])("The signal of a %s aborts a request", async (place) => {
    const seen: string[] = [];
    const controller = new AbortController();
    const own = { signal: new AbortController().signal };
    const given = { signal: controller.signal };
    const api = await open(place === "client" ? given : own, bookshop(seen));
    const failed = failure(api.get("/slow", place === "client" ? own : given));
    await expect.poll(() => seen).toEqual(["came"]);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await failed).toBe(reason);
    await expect.poll(() => seen).toEqual(["came", "left"]);
  });

  it("Idempotent requests to a busy server are sent again, others only with an Idempotency-Key", async () => {
    expect(await (await open()).get("/busy")).toEqual({ attempts: 3 });
    const api = await open();
    const busy = await failure(api.post("/busy"));
    if (!isApiError(busy, "post", "/busy") || busy.status !== 503) throw busy;
    expect([busy.code, busy.body.detail]).toEqual(["SERVICE_UNAVAILABLE", "Come back."]);
    expect(await api.post("/busy", { headers: { "idempotency-key": "1" } })).toEqual({ attempts: 3 });
    expect(await failure(api.get("/busy", { retries: 1 }))).toMatchObject({ status: 503 });
    expect(await api.get("/busy", { retries: 0 })).toEqual({ attempts: 6 });
    expect(await failure((await open({ retries: 0 })).get("/busy"))).toMatchObject({ status: 503 });
  });

  it("A request whose connection breaks is sent again", async () => {
    let connections = 0;
    const reply = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"attempts":2}';
    const server = createServer((socket) => {
      const broken = ++connections === 1;
      socket.on("error", () => {});
      socket.once("data", () => (broken ? socket.destroy() : socket.end(reply)));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const api = createClient({ baseUrl: `http://127.0.0.1:${port}` });
    expect(await api.get("/busy")).toEqual({ attempts: 2 });
    connections = 0;
    await expect(api.post("/busy")).rejects.toThrow("fetch failed");
  });

  it("A pause can be aborted, and one that is too long is an error at once", async () => {
    const busy = (after: string) => new Response("", { status: 429, headers: { "Retry-After": after } });
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("enough");
    const patient = createClient({
      baseUrl: "https://a.test",
      fetch: async () => {
        setTimeout(() => controller.abort(reason));
        return busy("25");
      },
    });
    expect(await failure(patient.get("/busy", { signal }))).toBe(reason);
    for (const after of ["31", new Date(Date.now() + 3_600_000).toUTCString()]) {
      const refused = createClient({ baseUrl: "https://a.test", fetch: async () => busy(after) });
      expect(await failure(refused.get("/busy"))).toBeInstanceOf(ApiError);
    }
    const replies = [busy("Sun, 06 Nov 1994 08:49:37 GMT"), Response.json({ attempts: 2 })];
    const dated = createClient({ baseUrl: "https://a.test", fetch: async () => replies.shift()! });
    expect(await dated.get("/busy")).toEqual({ attempts: 2 });
  });
});

async function open(options: ClientOptions = {}, app: App = bookshop()): Promise<ApiClient> {
  const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
  app.logger = silent;
  const server = await serve(app, { debug: false });
  onTestFinished(() => server.close());
  return createClient({ baseUrl: server.url, ...options });
}

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error("no error"),
    (error: unknown) => error,
  );
}
