import { type } from "arktype";
import { Response as Answer, App, createLogger, jsonSchemaSymbol, toResponseSymbol } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";

const Book = z.object({ title: z.string(), at: z.date().optional() });
const secret = "hunter2-s3cret";

function app(env: "development" | "production", handler: () => unknown, response: z.ZodType = Book) {
  vi.stubEnv("STOA_ENV", env);
  try {
    const lines: string[] = [];
    const made = new App();
    made.logger = createLogger({ format: "json", sink: { write: (line: string) => void lines.push(line) } as never });
    made.get("/books/{id}", { response }, handler as () => never);
    return { app: made, lines, get: () => made.request("/books/1") };
  } finally {
    vi.unstubAllEnvs();
  }
}

describe("a response with a schema", () => {
  it("The response is the output of the response schema", async () => {
    const at = new Date(0);
    const { get } = app("production", () => ({ title: "Emma", password: secret, at }));
    expect(await (await get()).json()).toEqual({ title: "Emma", at: "1970-01-01T00:00:00.000Z" });
    const later = app("production", async () => ({ title: "Emma", password: secret }));
    expect(await (await later.get()).json()).toEqual({ title: "Emma" });
  });

  it("The schema sees the values of promises at any place of a result", async () => {
    class Report {
      readonly total = Promise.resolve(3);
      get twice(): string {
        return "of the class";
      }
    }
    const seen: unknown[] = [];
    const any = z.any().transform((value: unknown) => {
      seen.push(value);
      return "fine";
    });
    const map = new Map([["a", Promise.resolve(1)]]);
    const at = new Date(0);
    const result = {
      at,
      list: [Promise.resolve({ inner: Promise.resolve(2) })],
      map,
      set: new Set([Promise.resolve("x"), "y"]),
      report: new Report(),
      json: { p: 1, toJSON: () => "not yet" },
    };
    const { get } = app("production", () => result, any);
    expect(await (await get()).text()).toBe("fine");
    expect(seen).toEqual([
      {
        ...result,
        list: [{ inner: 2 }],
        map: new Map([["a", 1]]),
        set: new Set(["x", "y"]),
        report: Object.assign(Object.create(Report.prototype), { total: 3 }),
      },
    ]);
    expect((seen[0] as { at: Date }).at).toBe(at);
    expect([...map.values()][0]).toBeInstanceOf(Promise);
    const strict = app("production", async () => ({ title: Promise.resolve("Emma"), password: secret }));
    expect(await (await strict.get()).json()).toEqual({ title: "Emma" });
  });

  it("A result without promises reaches the schema as it is, also if it is circular", async () => {
    const seen: unknown[] = [];
    const result: Record<string, unknown> = { map: new Map([["a", { b: new Set([1]) }]]), bytes: new Uint8Array(2) };
    result["self"] = [result];
    const { get } = app("production", () => result, z.any().transform((value) => void seen.push(value)) as never);
    expect((await get()).status).toBe(204);
    expect(seen[0]).toBe(result);
  });

  it("Rejected promises in a result with a schema are a 500 response, without an unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      const late = (): Promise<never> => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 2));
      // Made by the handler: before that, nobody would handle them.
      const results = [
        () => ({ title: late() }),
        () => ({ title: 5, at: late() }),
        () => ({ title: late(), at: late(), x: [{ y: late() }] }),
      ];
      for (const result of results) expect((await app("production", result).get()).status).toBe(500);
      // Timers run in the order of their times: all promises are rejected, and Node has looked at them.
      await new Promise((resolve) => setTimeout(resolve, 10));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  it.each(["sync", "async"])(
    "A result of a %s handler that breaks the schema is 500 in development, with the route and the errors",
    async (kind) => {
      const wrong = { title: 5, password: secret };
      const { get, lines } = app("development", kind === "sync" ? () => wrong : async () => wrong);
      const response = await get();
      expect(response.status).toBe(500);
      const { error } = (await response.json()) as { error: string };
      expect(error).toContain(
        "ResponseValidationError: the response of GET /books/{id} breaks its schema: " +
          "response.title: Invalid input: expected string, received number (invalid_type)",
      );
      expect(lines.join()).not.toContain(secret);
    },
  );

  it("A result that breaks the schema is 500 in production, with a log line that does not contain the result", async () => {
    const { get, lines } = app("production", () => ({ title: secret.length, password: secret }));
    const response = await get();
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: "Internal Server Error", status: 500 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("the response of GET /books/{id} breaks its schema");
    expect(lines[0]).not.toContain(secret);
  });

  it("The response has no undeclared properties, even if the library keeps them", async () => {
    const Shelf = type({ name: "string", books: type({ title: "string", "year?": "number" }).array(), "+": "ignore" });
    const shelf = { name: "a", books: [{ title: "Emma", password: secret }], password: secret };
    const { get } = app("production", () => shelf, Shelf as never);
    expect(await (await get()).json()).toEqual({ name: "a", books: [{ title: "Emma" }] });
    const Open = type({ name: "string", "[string]": "string" });
    expect(await (await app("production", () => ({ name: "a", b: "c" }), Open as never).get()).json()).toEqual({
      name: "a",
      b: "c",
    });
  });

  it("The response of a model schema has only the properties that the model sends", async () => {
    const model = { [jsonSchemaSymbol]: () => ({ name: "Book", schema: { properties: { id: {}, title: {} } } }) };
    const row = { id: 1, title: "Emma", password: secret };
    expect(await (await app("production", () => row, model as never).get()).json()).toEqual({ id: 1, title: "Emma" });
    expect(await (await app("production", async () => [row], model as never).get()).json()).toEqual([
      { id: 1, title: "Emma" },
    ]);
  });

  it("The response schema also checks values that make their own response", async () => {
    const row = { title: "Emma", at: new Date(0), password: secret };
    const model = { ...row, [toResponseSymbol]: () => Answer.json(row) };
    expect(await (await app("production", () => model).get()).json()).toEqual({ title: "Emma", at: row.at.toJSON() });
    const AsJson = z.array(z.object({ title: z.string(), at: z.string() }));
    // biome-ignore lint/suspicious/noThenProperty: querysets have one
    const rows = { then: (done: (rows: unknown) => void) => done([row]), [toResponseSymbol]: () => Answer.json([row]) };
    expect(await (await app("production", () => rows, AsJson).get()).json()).toEqual([
      { title: "Emma", at: row.at.toJSON() },
    ]);
    expect((await app("production", () => rows).get()).status).toBe(500);
  });

  it("The response schema does not check responses, bytes and streams", async () => {
    const finished = [
      () => Answer.json({ error: "no" }, 404),
      () => new Response("web"),
      () => new Uint8Array([1]),
      async function* () {
        yield "streamed";
      },
    ];
    for (const handler of finished) expect((await app("development", handler).get()).status).not.toBe(500);
    const failed = app("development", () => new TypeError("mine"));
    expect(((await (await failed.get()).json()) as { error: string }).error).toContain("TypeError: mine");
  });

  it("A missing result breaks the response schema, unless that accepts it", async () => {
    expect((await app("development", () => undefined).get()).status).toBe(500);
    expect((await app("development", () => undefined, z.void()).get()).status).toBe(204);
  });

  it("A response schema can be asynchronous", async () => {
    const later = z.object({ title: z.string().refine(async (title) => title !== "no", "must not be") });
    expect((await app("development", () => ({ title: "yes" }), later).get()).status).toBe(200);
    expect((await app("development", () => ({ title: "no" }), later).get()).status).toBe(500);
  });

  it("A response schema that is not a schema is refused at the start", async () => {
    const made = new App();
    made.get("/", { response: { title: "string" } as never }, () => "" as never);
    await expect(made.start()).rejects.toThrow("'response' of GET / must be a schema");
  });
});
