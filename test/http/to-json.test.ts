import { App, createLogger, Response, toResponseSymbol } from "stoa";
import { describe, expect, it } from "vitest";
import { toJson } from "../../src/http/json/to-json.js";

/** Runs when it is awaited or sent, as a queryset does. */
class Lazily implements PromiseLike<unknown> {
  readonly table = "secret_table";
  readonly #rows: unknown;
  runs = 0;

  constructor(rows: unknown) {
    this.#rows = rows;
  }

  // biome-ignore lint/suspicious/noThenProperty: querysets have one
  then<A, B>(
    resolve?: ((value: unknown) => A | PromiseLike<A>) | null,
    reject?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return Promise.resolve(this.#rows).then(resolve, reject);
  }

  toJSON(): never {
    throw new Error("not yet");
  }

  [toResponseSymbol](): Response {
    this.runs++;
    return Response.json(this.#rows);
  }
}

function sent(result: unknown): Promise<{ status: number; body: unknown }> {
  return sentBy(() => result);
}

async function sentBy(handler: () => unknown): Promise<{ status: number; body: unknown }> {
  const app = new App();
  app.logger = createLogger({ format: "json", sink: { write: () => {} } as never });
  app.get("/", handler as () => never);
  const response = await app.request("/");
  return { status: response.status, body: await response.json() };
}

describe("the result of a handler", () => {
  it("The result of a handler can contain lazy values anywhere, which run when they are sent", async () => {
    const books = new Lazily([{ id: 1 }]);
    const result = { a: 1, books, list: [new Lazily([]), { deep: new Lazily({ x: {} }) }], z: 2 };
    expect(await sent(result)).toEqual({
      status: 200,
      body: { a: 1, books: [{ id: 1 }], list: [[], { deep: { x: {} } }], z: 2 },
    });
    expect(books.runs).toBe(1);
    expect(Object.keys((await sent(result)).body as object)).toEqual(["a", "books", "list", "z"]);
  });

  it("The result of a handler can contain promises, also nested ones", async () => {
    const result = { total: Promise.resolve(2), items: [Promise.resolve({ inner: Promise.resolve(new Set([1])) })] };
    expect((await sent(result)).body).toEqual({ total: 2, items: [{ inner: [1] }] });
  });

  it("A rejected promise in the result of a handler is a 500 response", async () => {
    const { status, body } = await sent({ total: Promise.reject(new TypeError("no database")) });
    expect(status).toBe(500);
    expect(body).toMatchObject({ error: expect.stringContaining("TypeError: no database") });
  });

  it.each<[string, () => unknown]>([
    ["the promise of its toJSON", () => ({ toJSON: () => late() })],
    ["a promise in its toJSON", () => ({ toJSON: () => ({ total: late() }) })],
    ["a promise in a toJSON inside", () => [{ x: { toJSON: () => ({ total: late() }) } }]],
    ["the promise of a getter", () => Object.defineProperty({}, "total", { get: () => late(), enumerable: true })],
    [
      "the promise of a getter in 99 lists",
      () => inLists(99, Object.defineProperty({}, "total", { get: () => late(), enumerable: true })),
    ],
    [
      "a promise beside a getter that throws",
      () => Object.defineProperty({ b: late() }, "a", { get: () => JSON.parse("{"), enumerable: true }),
    ],
    ["one of several promises", () => ({ a: late(), b: Promise.resolve([late()]), c: { toJSON: () => [late()] } })],
    ["a promise in a toJSON beside an error", () => ({ x: { toJSON: () => [/a/, { a: late() }] }, y: late() })],
    [
      "a promise in an instance beside an error",
      () =>
        new (class Report {
          bad = /a/;
          total = late();
        })(),
    ],
    ["a promise beside a toJSON that throws", () => [{ toJSON: () => JSON.parse("{") }, { a: new Set([late()]) }]],
    ["a promise beside a circle and a deep list", () => [circle(), deep(), late()]],
  ])("A result that fails by %s is a 500 response, without an unhandled rejection", async (_, result) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      expect((await sentBy(result)).status).toBe(500);
      // Timers run in the order of their times: all promises are rejected, and Node has looked at them.
      await new Promise((resolve) => setTimeout(resolve, 10));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  it("The toJSON of an object in a result runs once, with its key, and may return promises", async () => {
    const keys: string[] = [];
    const own = (json: unknown) => ({
      toJSON(key: string) {
        keys.push(key);
        return json;
      },
    });
    const self = { a: Promise.resolve(1), toJSON: () => self };
    const result = own({ list: [own(Promise.resolve(own({}))), own(5n)], self, at: new Date(0), none: () => 1 });
    expect((await sent(result)).body).toEqual({
      list: [{}, "5"],
      self: { a: 1 },
      at: "1970-01-01T00:00:00.000Z",
    });
    expect(keys).toEqual(["", "0", "1", "0"]);
  });

  it("A Map is sent as an object and a Set as a list", async () => {
    const map = new Map<unknown, unknown>([
      ["a", 1],
      [2, new Set(["x", new Map([["__proto__", 5n]])])],
    ]);
    expect((await sent(map)).body).toEqual({ a: 1, 2: ["x", JSON.parse('{"__proto__":"5"}')] });
    expect((await sent({ tags: new Set() })).body).toEqual({ tags: [] });
  });

  class Private {
    readonly #value = 1;
    get value(): number {
      return this.#value;
    }
  }

  it.each<[string, unknown, string]>([
    ["a Map with a key that is an object", { map: new Map([[{}, 1]]) }, "result.map is a Map with a key"],
    ["an error", { list: [{ error: new Error("hidden") }] }, "result.list[0].error is an object of class Error"],
    ["a regular expression", { pattern: /a/ }, "result.pattern is an object of class RegExp"],
    ["an object with private state only", [new Private()], "result[0] is an object of class Private"],
    ["a WeakMap", new WeakMap(), "result is an object of class WeakMap"],
    ["a stream", { body: new ReadableStream() }, "result.body is an object of class ReadableStream"],
    ["an iterator", { items: [1].values() }, "result.items is an object of class Array Iterator"],
    ["a circle beside a promise", circle(), "result.self is circular"],
  ])("A result that contains %s is an error that names its place", async (_, result, message) => {
    const { status, body } = await sent(result);
    expect(status).toBe(500);
    expect(body).toMatchObject({ error: expect.stringContaining(message) });
  });

  it("A result can contain empty objects, dates, class instances, and objects with toJSON", async () => {
    class Point {
      x = 1;
    }
    const self = { a: 1, toJSON: () => self };
    const result = {
      none: {},
      at: new Date(0),
      point: new Point(),
      own: { toJSON: () => ({ o: {} }) },
      bare: bare(),
      self,
    };
    expect((await sent(result)).body).toEqual({
      none: {},
      at: "1970-01-01T00:00:00.000Z",
      point: { x: 1 },
      own: { o: {} },
      bare: {},
      self: { a: 1 },
    });
  });
});

describe("Response.json", () => {
  it("Response.json() writes a Map and a Set, and refuses promises and querysets", () => {
    expect(Response.json({ a: new Map([["b", new Set([1])]]) }).body).toBe('{"a":{"b":[1]}}');
    expect(() => Response.json({ books: new Lazily([]) })).toThrow("result.books is a promise or a queryset");
    expect(() => Response.json([Promise.reject(new Error("handled"))])).toThrow("result[0] is a promise or a queryset");
  });
});

describe("toJson", () => {
  it("toJson() writes a bigint as a string of its digits", () => {
    expect(toJson({ a: 2n ** 64n, b: {} })).toBe('{"a":"18446744073709551616","b":{}}');
  });
});

/** Rejected after the response has been decided. */
function late(): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 2));
}

function inLists(count: number, value: unknown): unknown {
  return count === 0 ? value : [inLists(count - 1, value)];
}

function deep(): unknown[] {
  let list: unknown[] = [];
  for (let i = 0; i < 100_000; i++) list = [list];
  return list;
}

function circle(): object {
  const object: Record<string, unknown> = { wait: Promise.resolve(), first: new Lazily([]) };
  object["self"] = object;
  return object;
}

function bare(): object {
  return Object.create(null) as object;
}
