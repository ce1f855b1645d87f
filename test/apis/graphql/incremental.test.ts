import { createClient as createSseClient } from "graphql-sse";
import { createClient } from "graphql-ws";
import type { App, GraphqlOptions } from "stoa";
import type { GraphqlHooks } from "stoa/graphql";
import { serve, type TestServer } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { dataOf, errorsOf, graphqlApp, type Logged, post } from "./support.js";

const typeDefs = `
  interface Named { name: String }
  type Book implements Named {
    id: ID! name: String pages: Int slow: String broken: String required: String! author: Author reviews: [String!] loose: [String]
  }
  type Author implements Named { id: ID! name: String slow: String books: [Book!] }
  type Query {
    book: Book books(n: Int = 3): [Book!] strict: Strict numbers(to: Int!, failAt: Int): [Int!] letters: [String] waiting: [Int] grid: [[Int]]
    hello: String
  }
  type Strict { first: String! book: Book }
  type Mutation { add: Book }
  type Subscription { added: Book }
`;

interface Payload {
  data?: Record<string, unknown> | null;
  errors?: unknown[];
  pending?: { id: string; path: (string | number)[]; label?: string }[];
  incremental?: { id: string; data?: unknown; items?: unknown[]; errors?: { message: string; path: unknown[] }[] }[];
  completed?: { id: string; errors?: { message: string; path: unknown[] }[] }[];
  hasNext?: boolean;
}

/** What sources have seen. */
const seen = { started: 0, ended: 0, waiting: 0, aborted: 0 };

const author = () => ({ id: 7, name: "Ann", slow: async () => "slow author" });
const book = (id = 1) => ({
  ...{ id, name: `Book ${id}`, pages: 100 * id, author },
  slow: async () => `slow ${id}`,
  broken: () => Promise.reject(new Error("secret")),
  required: () => null,
  reviews: () => ["good", "bad"],
});

const resolvers = {
  Named: { __resolveType: () => "Book" },
  Query: {
    hello: () => "hello",
    book: () => book(),
    books: (_parent: unknown, { n }: { n: number }) => Array.from({ length: n }, (_, i) => book(i + 1)),
    strict: () => ({ first: null, book: book() }),
    async *numbers(_parent: unknown, { to, failAt }: { to: number; failAt?: number }) {
      seen.started++;
      try {
        for (let i = 1; i <= to; i++) {
          if (i === failAt) throw new Error("secret");
          yield i;
        }
      } finally {
        seen.ended++;
      }
    },
    letters: () => ["a", Promise.resolve("b"), Promise.reject(new Error("secret")), "d"],
    async *waiting(_parent: unknown, _args: unknown, { signal }: { signal: AbortSignal }) {
      yield 1;
      await new Promise<void>((resolve) => {
        seen.waiting++;
        signal.addEventListener("abort", () => {
          seen.aborted++;
          resolve();
        });
      });
    },
    grid: () => [[1, 2], [3]],
  },
  Mutation: { add: () => book(9) },
  Subscription: {
    added: {
      subscribe: async function* () {
        yield { added: book() };
      },
    },
  },
};

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const incrementalApp = (more: GraphqlOptions = {}): App & { readonly logged: Logged } =>
  graphqlApp({ typeDefs, resolvers, incremental: true, maskErrors: true, ...more });

async function served(more: GraphqlOptions = {}): Promise<TestServer> {
  const server = await serve(incrementalApp(more));
  opened.push(() => server.close());
  return server;
}

const accept = "multipart/mixed, application/json";

/** Reads the parts of a response as they arrive. */
async function* partsOf(response: Response): AsyncGenerator<Payload> {
  expect(response.headers.get("content-type")).toBe('multipart/mixed; boundary="-"');
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let at = text.indexOf("\r\n---"); at !== -1; at = text.indexOf("\r\n---")) {
      const part = text.slice(0, at);
      text = text.slice(at + 5);
      yield JSON.parse(part.slice(part.indexOf("\r\n\r\n") + 4)) as Payload;
    }
  }
  expect(text).toBe("--\r\n");
}

const request = (server: TestServer, query: string, variables?: object, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.url}/graphql`, {
    ...{ method: "POST", headers: { "content-type": "application/json", accept } },
    ...{ body: JSON.stringify({ query, variables }), ...init },
  });

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of list) all.push(each);
  return all;
}

/** The data of all payloads, put together as a client does, with the number of payloads. Checks ids on the way. */
function merged(payloads: readonly Payload[]): { data: unknown; count: number; failed: string[]; labels: unknown[] } {
  const open = new Map<string, (string | number)[]>();
  const failed: string[] = [];
  const labels: unknown[] = [];
  const root: Record<string, unknown> = { data: payloads[0]!.data };
  for (const [i, payload] of payloads.entries()) {
    expect(payload.hasNext).toBe(i < payloads.length - 1);
    for (const { id, path, label } of payload.pending ?? []) {
      expect(open.has(id)).toBe(false);
      open.set(id, path);
      labels.push(label);
    }
    for (const { id, data, items } of payload.incremental ?? []) {
      let at = root["data"] as Record<string, unknown>;
      for (const key of open.get(id)!) at = at[key] as Record<string, unknown>;
      if (items) (at as unknown as unknown[]).push(...items);
      for (const key of Object.keys(data ?? {})) {
        expect(Object.hasOwn(at, key), `${key} is sent once`).toBe(false);
        at[key] = (data as Record<string, unknown>)[key];
      }
    }
    for (const { id, errors } of payload.completed ?? []) {
      for (const { message } of errors ?? []) failed.push(message);
      expect(open.delete(id)).toBe(true);
    }
  }
  expect(open.size).toBe(0);
  return { data: root["data"], count: payloads.length, failed, labels };
}

describe("@defer", () => {
  it("The fields of a deferred fragment come after the result around them, in the form of the draft", async () => {
    const query = '{ book { id ... @defer(label: "late") { slow pages } } hello }';
    expect(await collect(partsOf(await request(await served(), query)))).toEqual([
      {
        data: { book: { id: "1" }, hello: "hello" },
        pending: [{ id: "0", path: ["book"], label: "late" }],
        hasNext: true,
      },
      { incremental: [{ id: "0", data: { slow: "slow 1", pages: 100 } }], completed: [{ id: "0" }], hasNext: false },
    ]);
  });

  it.each([
    ["{ ... @defer { hello } book { id } }"],
    ["{ book { id ...F @defer } } fragment F on Book { slow author { name ... @defer { slow } } }"],
    ['{ book { ...F @defer(label: "a") ...F } } fragment F on Book { id name }'],
    ['{ book { ... @defer(label: "a") { name pages } ... @defer(label: "b") { name slow } } }'],
    ["{ book { author { name } ... @defer { author { slow } pages } } }"],
    ["{ books { id ... on Named @defer { name } ... @defer { author { id } } } }"],
    ["{ book { ... @defer { name ... @defer { slow } } } }"],
    ["{ book { ... @defer(if: false) { name } ... @skip(if: true) @defer { slow } } }"],
    ["mutation { add { id ... @defer { slow } } }"],
  ])("All payloads together are the result without @defer: %s", async (query) => {
    const server = await served();
    const payloads = await collect(await payloadsOf(server, query));
    const whole = await dataOf(incrementalApp(), query.replaceAll(/@defer(\([^)]*\))?/g, ""));
    expect(payloads.length === 1 ? payloads[0]!.data : merged(payloads).data).toEqual(whole);
  });

  const payloadsOf = async (server: TestServer, query: string, variables?: object) => {
    const response = await request(server, query, variables);
    if (response.headers.get("content-type")?.startsWith("multipart")) return partsOf(response);
    return [(await response.json()) as Payload] as unknown as AsyncIterable<Payload>;
  };

  it("A condition is a variable, and a fragment whose fields are all in the result is not announced", async () => {
    const server = await served();
    const query = "query ($late: Boolean!) { book { id ... @defer(if: $late) { id name } } }";
    expect((await collect(await payloadsOf(server, query, { late: true }))).length).toBe(2);
    expect((await collect(await payloadsOf(server, query, { late: false }))).length).toBe(1);
    expect((await collect(await payloadsOf(server, "{ book { id ... @defer { id } } }"))).length).toBe(1);
  });

  it("An error in a fragment is sent with it, and one of a required field in place of it", async () => {
    const query = '{ book { id ... @defer(label: "a") { broken pages } ... @defer(label: "b") { required slow } } }';
    const payloads = await collect(partsOf(await request(await served(), query)));
    const incremental = payloads.flatMap((each) => each.incremental ?? []);
    expect(incremental).toEqual([
      {
        id: "0",
        data: { broken: null, pages: 100 },
        errors: [expect.objectContaining({ message: "Internal Server Error", path: ["book", "broken"] })],
      },
    ]);
    const completed = payloads.flatMap((each) => each.completed ?? []);
    expect(completed).toContainEqual({ id: "1", errors: [expect.objectContaining({ path: ["book", "required"] })] });
  });

  it("A property that is a rejected promise is an error of its fragment, and ends no process", async () => {
    const app = incrementalApp({
      resolvers: {
        Query: {
          book: () => ({ id: 1, name: Promise.reject(new Error("secret")) }),
          hello: () => new Promise((resolve) => setImmediate(resolve, "later")),
        },
      },
    });
    const server = await serve(app);
    opened.push(() => server.close());
    const parts = partsOf(await request(server, "{ book { id ... @defer { name } } hello }"));
    expect((await parts.next()).value).toMatchObject({ data: { book: { id: "1" }, hello: "later" } });
    expect((await parts.next()).value).toMatchObject({
      incremental: [{ data: { name: null }, errors: [{ path: ["book", "name"] }] }],
      hasNext: false,
    });
  });

  it("Fragments inside of a place that an error has made null are dropped", async () => {
    const response = await request(await served(), "{ strict { book { id ... @defer { slow } } first } hello }");
    expect(await response.json()).toMatchObject({
      data: { strict: null, hello: "hello" },
      errors: [{ path: ["strict", "first"] }],
    });
  });

  it("Fragments over the limit are part of the result", async () => {
    const server = await served({ limits: { deferred: 2 } });
    const payloads = await collect(partsOf(await request(server, "{ books(n: 5) { id ... @defer { name } } }")));
    expect(payloads[0]!.pending!.length).toBe(2);
    expect((payloads[0]!.data!["books"] as object[]).map((each) => "name" in each)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it("A client that takes one result gets the whole, and without the option the directives are unknown", async () => {
    const query = "{ book { id ... @defer { name } } letters: numbers(to: 2) @stream }";
    expect(await dataOf(incrementalApp(), query)).toEqual({ book: { id: "1", name: "Book 1" }, letters: [1, 2] });
    const app = graphqlApp({ typeDefs, resolvers });
    expect((await post(app, { query }, { accept })).body.errors?.[0]?.message).toContain('Unknown directive "@defer"');
  });

  it.each([
    ["multipart/mixed", true],
    ["application/json, text/event-stream;q=0, multipart/mixed;q=0.1", true],
    ['multipart/mixed;boundary="graphql";incrementalSpec=v0.2, application/json', true],
    ["multipart/mixed; deferSpec=20220824, application/json", false],
    ["multipart/mixed;incrementalSpec=v0.9, application/json", false],
    ["multipart/mixed;q=0, application/json", false],
    ["application/json", false],
  ])("A client that accepts %s gets parts: %s", async (accepted, inParts) => {
    const headers = { "content-type": "application/json", accept: accepted };
    const response = await request(await served(), "{ book { id ... @defer { name } } }", {}, { headers });
    expect(response.headers.get("content-type")?.startsWith("multipart/mixed")).toBe(inParts);
    const whole = { data: { book: { id: "1", name: "Book 1" } } };
    if (inParts) expect(merged(await collect(partsOf(response))).data).toEqual(whole.data);
    else expect(await response.json()).toEqual(whole);
  });

  it.each([
    ["mutation { ... @defer { add { id } } }", /mutation/],
    ["subscription { added { id ... @defer { name } } }", /subscription/],
    ['{ book { ... @defer(label: "a") { id } ... @defer(label: "a") { name } } }', /used twice/],
    ["query ($l: String) { book { ... @defer(label: $l) { id } } }", /must be a text/],
    ["{ hello @stream }", /lists only/],
  ])("The document %s is refused", async (query, message) => {
    expect((await errorsOf(incrementalApp(), query)).map((each) => each.message).join()).toMatch(message);
  });
});

describe("@stream", () => {
  it("The items of a list come after the first ones, of arrays and of async generators", async () => {
    const server = await served();
    const query = '{ numbers(to: 4) @stream(initialCount: 2, label: "n") books { id reviews @stream } }';
    const result = merged(await collect(partsOf(await request(server, query))));
    expect(result.data).toEqual({
      numbers: [1, 2, 3, 4],
      books: [1, 2, 3].map((id) => ({ id: String(id), reviews: ["good", "bad"] })),
    });
    expect(result.labels).toContain("n");
    const grid = merged(await collect(partsOf(await request(server, "{ grid @stream(initialCount: 1) }"))));
    expect(grid.data).toEqual({ grid: [[1, 2], [3]] });
  });

  it("An item that fails is null with its error, or ends a list of required items", async () => {
    const server = await served();
    const letters = await collect(partsOf(await request(server, "{ letters @stream }")));
    expect(merged(letters).data).toEqual({ letters: ["a", "b", null, "d"] });
    const errors = letters.flatMap((each) => each.incremental ?? []).flatMap((each) => each.errors ?? []);
    expect(errors).toEqual([expect.objectContaining({ path: ["letters", 2], message: "Internal Server Error" })]);
    const numbers = merged(await collect(partsOf(await request(server, "{ numbers(to: 5, failAt: 3) @stream }"))));
    expect([numbers.data, numbers.failed]).toEqual([{ numbers: [1, 2] }, ["Internal Server Error"]]);
  });

  it("A client that leaves aborts the resolvers and ends their generators", async () => {
    const server = await served();
    const { aborted, waiting } = seen;
    const leaving = new AbortController();
    const response = await request(
      server,
      "{ waiting @stream(initialCount: 1) book { id } }",
      {},
      { signal: leaving.signal },
    );
    const parts = partsOf(response);
    expect((await parts.next()).value).toMatchObject({ data: { waiting: [1] }, hasNext: true });
    const rest = parts.next().catch(() => {});
    await expect.poll(() => seen.waiting).toBe(waiting + 1);
    leaving.abort();
    await rest;
    await expect.poll(() => seen.aborted).toBe(aborted + 1);
  });

  it("A payload has at most 100 items of a list that is there at once", async () => {
    const letters = () => Array.from({ length: 250 }, () => "a");
    const server = await served({ resolvers: { ...resolvers, Query: { ...resolvers.Query, letters } } });
    const payloads = await collect(partsOf(await request(server, "{ letters @stream }")));
    const sizes = payloads.flatMap(({ incremental = [] }) => incremental.map(({ items }) => items?.length));
    expect(sizes).toEqual([100, 100, 50]);
  });

  it("A negative number of first items is an error of the field", async () => {
    const response = await request(await served(), "{ letters @stream(initialCount: -1) }");
    expect(await response.json()).toMatchObject({
      data: { letters: null },
      errors: [{ message: "initialCount of @stream must not be negative.", path: ["letters"] }],
    });
  });

  it("A request whose response is not sent ends the sources of its lists", async () => {
    const server = await served();
    const { started, ended } = seen;
    const query = encodeURIComponent("{ numbers(to: 2000000000) @stream(initialCount: 1) }");
    const response = await fetch(`${server.url}/graphql?query=${query}`, { method: "HEAD", headers: { accept } });
    expect([response.status, seen.started]).toEqual([200, started + 1]);
    await expect.poll(() => seen.ended).toBe(ended + 1);
  });

  it("A source that throws a value which nobody can read ends its list with an error", async () => {
    const trap = () => {
      throw new Error("trap");
    };
    const numbers = async function* () {
      yield 1;
      throw new Proxy({}, { get: trap, getPrototypeOf: trap });
    };
    const server = await served({ resolvers: { ...resolvers, Query: { ...resolvers.Query, numbers } } });
    const { data, failed } = merged(await collect(partsOf(await request(server, "{ numbers(to: 5) @stream }"))));
    expect([data, failed]).toEqual([{ numbers: [1] }, ["Internal Server Error"]]);
  });
});

describe("lists of async iterables", () => {
  it("A client that leaves is no error of a resolver in the log", async () => {
    const app = incrementalApp();
    const errors: string[] = [];
    const logger: App["logger"] = {
      debug() {},
      info() {},
      warn() {},
      error: (text) => void errors.push(text),
      child: () => logger,
    };
    app.logger = logger;
    let finished = false;
    app.use((request, next) => {
      request.onFinish(() => void (finished = true));
      return next();
    });
    const server = await serve(app);
    opened.push(() => server.close());
    const { started } = seen;
    const leaving = new AbortController();
    const init = { signal: leaving.signal, headers: { "content-type": "application/json" } };
    const gone = request(server, "{ numbers(to: 2000000000) }", {}, init).catch(() => "gone");
    await expect.poll(() => seen.started).toBe(started + 1);
    leaving.abort();
    expect(await gone).toBe("gone");
    await expect.poll(() => finished, { timeout: 20_000 }).toBe(true);
    expect(errors).toEqual([]);
  });

  it("A source without an end is ended when a client leaves that takes one result", async () => {
    const server = await served();
    const { started, ended } = seen;
    const leaving = new AbortController();
    const init = { signal: leaving.signal, headers: { "content-type": "application/json" } };
    const gone = request(server, "{ numbers(to: 2000000000) hello }", {}, init).catch(() => "gone");
    await expect.poll(() => seen.started).toBe(started + 1);
    leaving.abort();
    expect(await gone).toBe("gone");
    await expect.poll(() => seen.ended, { timeout: 20_000 }).toBe(ended + 1);
  });
});

describe("results in parts over other protocols", () => {
  it("Clients of graphql-ws and graphql-sse get each part as a result", async () => {
    const server = await served();
    const socket = createClient({ url: `${server.url.replace("http", "ws")}/graphql`, webSocketImpl: WebSocket });
    opened.push(() => socket.dispose());
    const events = createSseClient({ url: `${server.url}/graphql` });
    opened.push(() => events.dispose());
    const query = "{ book { id ... @defer { slow } } numbers(to: 3) @stream(initialCount: 1) }";
    for (const client of [socket, events]) {
      const payloads = (await collect(client.iterate({ query }))) as unknown as Payload[];
      expect(merged(payloads).data).toEqual({ book: { id: "1", slow: "slow 1" }, numbers: [1, 2, 3] });
    }
  });

  it("A client of a WebSocket that completes an operation ends its generators", async () => {
    const server = await served();
    const socket = createClient({ url: `${server.url.replace("http", "ws")}/graphql`, webSocketImpl: WebSocket });
    opened.push(() => socket.dispose());
    const { aborted, waiting } = seen;
    const results = socket.iterate({ query: "{ waiting @stream }" });
    expect((await results.next()).value).toMatchObject({ data: { waiting: [] } });
    expect((await results.next()).value).toMatchObject({ incremental: [{ items: [1] }] });
    await expect.poll(() => seen.waiting).toBe(waiting + 1);
    await results.return?.();
    await expect.poll(() => seen.aborted).toBe(aborted + 1);
    const { ended } = seen;
    const numbers = socket.iterate({ query: "{ numbers(to: 2000000000) @stream }" });
    await numbers.next();
    await numbers.next();
    await numbers.return?.();
    await expect.poll(() => seen.ended).toBe(ended + 1);
  });

  it("The parts of a result that a hook does not return are ended", async () => {
    const execute: GraphqlHooks["execute"] = async (_operation, next) => {
      await next();
      return next();
    };
    const server = await served({ hooks: { execute } });
    const { started, ended } = seen;
    const response = await request(server, "{ numbers(to: 3) @stream(initialCount: 1) }");
    expect(merged(await collect(partsOf(response))).data).toEqual({ numbers: [1, 2, 3] });
    expect(seen.started).toBe(started + 2);
    await expect.poll(() => seen.ended).toBe(ended + 2);
  });

  it("A hook around execute sees the first result, and the parts follow it", async () => {
    const server = await served({
      hooks: {
        async execute(_operation, next) {
          const result = await next();
          result.extensions["hook"] = true;
          return result;
        },
      },
    });
    const payloads = await collect(partsOf(await request(server, "{ book { id ... @defer { name } } }")));
    expect(payloads[0]).toMatchObject({ extensions: { hook: true }, hasNext: true });
    expect(merged(payloads).data).toEqual({ book: { id: "1", name: "Book 1" } });
  });
});
