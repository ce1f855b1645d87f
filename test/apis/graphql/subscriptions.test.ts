import { createClient as createSseClient } from "graphql-sse";
import { type Client, createClient } from "graphql-ws";
import { type App, Depends, JwtAuth, type Room } from "stoa";
import { loader } from "stoa/graphql";
import { serve, type TestServer } from "stoa/testing";
import { afterEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { graphqlApp, type Logged, quietApp } from "./support.js";

interface Tick {
  n: number;
}

/** What a source has seen: it must be ended with its subscription. */
interface Source {
  ended: number;
}

/** The room that subscriptions of a test read. */
class Topic<Event> {
  constructor(readonly app: App) {
    app.enableRooms({ maxBuffered: 100_000_000, maxMessageSize: 2_000_000 });
  }

  get room(): Room<Event> {
    return this.app.rooms<Event>("events");
  }

  publish(event: Event): Promise<string> {
    return this.room.send(event);
  }

  /** The number of subscribers. */
  async size(): Promise<number> {
    return (await this.room.members()).count;
  }
}

function tickingApp(options: object = {}): { app: App & { logged: Logged }; topic: Topic<Tick>; source: Source } {
  const source: Source = { ended: 0 };
  const app = quietApp();
  const topic = new Topic<Tick>(app);
  app.enableGraphql({ limits: { complexity: 1000 }, ...options });
  const TickType = app.graphql.type("Tick", { n: "Int!" });
  app.graphql.query("hello", "String!", () => "hello");
  app.graphql.query("who", "String", (_args, { context }) => context.user ?? null);
  app.graphql.subscription("count", { type: "Int!", args: { to: "Int!" } }, async function* ({ to }) {
    for (let i = 1; i <= to; i++) yield i;
  });
  app.graphql.subscription("ticks", TickType.required, () => topic.room.subscribe());
  app.graphql.subscription("generated", TickType.required, async function* (_args, { signal }) {
    try {
      for await (const tick of topic.room.subscribe({ signal, filter: ({ n }) => n > 0 })) yield tick;
    } finally {
      source.ended++;
    }
  });
  app.graphql.subscription("fails", "Int", async function* () {
    yield 1;
    throw new Error("secret");
  });
  app.graphql.subscription("refused", { type: "Int", guards: [() => "not for you"] }, async function* () {
    yield 1;
  });
  return { app, topic, source };
}

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function start(app: App): Promise<TestServer> {
  const server = await serve(app, { debug: false });
  opened.push(() => server.close());
  return server;
}

function wsClient(server: TestServer, options: object = {}): Client {
  const url = `${server.url.replace("http", "ws")}/graphql`;
  const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0, lazy: true, ...options });
  opened.push(() => client.dispose());
  return client;
}

/** All results of an operation. */
async function collect(client: Client, query: string, variables?: Record<string, unknown>): Promise<unknown[]> {
  const results: unknown[] = [];
  for await (const result of client.iterate({ query, ...(variables && { variables }) })) results.push(result);
  return results;
}

/** A socket that speaks the protocol by hand. */
async function rawSocket(server: TestServer, protocol = "graphql-transport-ws", options: object = {}) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, protocol, options);
  const messages: Record<string, unknown>[] = [];
  let closed: { code: number; reason: string } | null = null;
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  socket.on("close", (code, reason) => (closed = { code, reason: String(reason) }));
  socket.on("error", () => {});
  opened.push(() => socket.terminate());
  await new Promise((resolve) => socket.on("open", resolve));
  const send = (message: unknown): void => socket.send(typeof message === "string" ? message : JSON.stringify(message));
  const closing = (): Promise<{ code: number; reason: string }> =>
    expect
      .poll(() => closed)
      .not.toBeNull()
      .then(() => closed!);
  return { socket, send, messages, closing };
}

describe("subscriptions over WebSocket", () => {
  it("A subscription over WebSocket sends each event to the client of graphql-ws, and then completes", async () => {
    const client = wsClient(await start(tickingApp().app));
    const query = "subscription ($to: Int!) { count(to: $to) }";
    expect(await collect(client, query, { to: 3 })).toEqual([1, 2, 3].map((count) => ({ data: { count } })));
  });

  it("Each event of a subscription loads its values again", async () => {
    const { app } = tickingApp();
    let loads = 0;
    const numbers = loader(async (keys: readonly string[]) => keys.map(() => ++loads));
    const Reading = app.graphql.type("Reading", { of: "Int!" });
    Reading.field("n", "Int", (_reading, _args, context) => context.load(numbers, "key"));
    app.graphql.subscription("readings", Reading.required, async function* () {
      for (let of = 0; of < 3; of++) yield { of };
    });
    const client = wsClient(await start(app));
    const results = await collect(client, "subscription { readings { n, again: n } }");
    expect(results).toEqual([1, 2, 3].map((n) => ({ data: { readings: { n, again: n } } })));
  });

  it("A WebSocket carries queries and the errors of documents too", async () => {
    const client = wsClient(await start(tickingApp().app));
    expect(await collect(client, "{ hello }")).toEqual([{ data: { hello: "hello" } }]);
    await expect(collect(client, "{ nothing }")).rejects.toMatchObject([
      { message: expect.stringContaining("nothing") },
    ]);
  });

  it("The source of a subscription ends when the client completes it, and other subscriptions continue", async () => {
    const { app, topic } = tickingApp();
    const client = wsClient(await start(app));
    const [one, two] = [
      client.iterate({ query: "subscription { ticks { n } }" }),
      client.iterate({ query: "subscription { ticks { n } }" }),
    ];
    const first = [one.next(), two.next()];
    await expect.poll(() => topic.size()).toBe(2);
    await topic.publish({ n: 1 });
    expect(await Promise.all(first)).toMatchObject([1, 2].map(() => ({ value: { data: { ticks: { n: 1 } } } })));
    void one.next();
    await one.return!();
    await expect.poll(() => topic.size()).toBe(1);
    const next = two.next();
    await topic.publish({ n: 2 });
    expect(await next).toMatchObject({ value: { data: { ticks: { n: 2 } } } });
  });

  it("The source of a subscription ends when the client of the WebSocket disconnects", async () => {
    const { app, topic } = tickingApp();
    const { socket, send } = await rawSocket(await start(app));
    send({ type: "connection_init" });
    send({ id: "1", type: "subscribe", payload: { query: "subscription { ticks { n } }" } });
    await expect.poll(() => topic.size()).toBe(1);
    socket.terminate();
    await expect.poll(() => topic.size()).toBe(0);
  });

  it("A generator that waits for an event is ended by the signal of its context", async () => {
    const { app, topic, source } = tickingApp();
    const server = await start(app);
    const { send } = await rawSocket(server);
    send({ type: "connection_init" });
    send({ id: "1", type: "subscribe", payload: { query: "subscription { generated { n } }" } });
    await expect.poll(() => topic.size()).toBe(1);
    send({ id: "1", type: "complete" });
    await expect.poll(async () => [await topic.size(), source.ended]).toEqual([0, 1]);
    const leave = await openStream(server, "subscription { generated { n } }");
    await expect.poll(() => topic.size()).toBe(1);
    leave();
    await expect.poll(async () => [await topic.size(), source.ended]).toEqual([0, 2]);
  });

  it("A client sees an error of a source without its details, and one of a guard with them", async () => {
    const { app } = tickingApp();
    const client = wsClient(await start(app));
    const query = "subscription { fails }";
    await expect(collect(client, query)).rejects.toMatchObject([{ message: "Internal Server Error" }]);
    await expect(collect(client, "subscription { refused }")).rejects.toMatchObject([{ message: "not for you" }]);
  });

  it("A WebSocket client gets an error without details when a persisted operation cannot be looked up", async () => {
    const operations = () => Promise.reject(new Error("secret"));
    const { send, messages } = await rawSocket(await start(tickingApp({ persisted: { operations } }).app));
    send({ type: "connection_init" });
    send({ id: "1", type: "subscribe", payload: { documentId: "x" } });
    await expect
      .poll(() => messages[1])
      .toMatchObject({ type: "error", payload: [{ message: "Internal Server Error" }] });
  });

  it("The payload of connection_init authenticates a WebSocket, and onConnect adds to the context", async () => {
    const onConnect = async ({ token }: { token?: unknown }) => (token === "right" ? { user: "ann" } : false);
    const server = await start(tickingApp({ subscriptions: { onConnect } }).app);
    const right = wsClient(server, { connectionParams: { token: "right" } });
    expect(await collect(right, "{ who }")).toEqual([{ data: { who: "ann" } }]);
    const wrong = await rawSocket(server);
    wrong.send({ type: "connection_init", payload: { token: "wrong" } });
    expect(await wrong.closing()).toEqual({ code: 4403, reason: "Forbidden" });
  });

  it("A WebSocket client is refused if onConnect throws or returns nothing", async () => {
    for (const onConnect of [
      () => {
        throw new Error("secret");
      },
      () => undefined as never,
    ]) {
      const { send, closing } = await rawSocket(await start(tickingApp({ subscriptions: { onConnect } }).app));
      send({ type: "connection_init" });
      expect(await closing()).toEqual({ code: 4403, reason: "Forbidden" });
    }
  });

  it.each([
    ["a message that is no JSON", ["{"], 4400],
    ["a message of another type", [{ type: "start" }], 4400],
    [
      "an id that is no string",
      [{ type: "connection_init" }, { id: 1, type: "subscribe", payload: { query: "{ hello }" } }],
      4400,
    ],
    ["an operation before connection_init", [{ id: "1", type: "subscribe", payload: { query: "{ hello }" } }], 4401],
    ["a second connection_init", [{ type: "connection_init" }, { type: "connection_init" }], 4429],
    [
      "an id that is in use",
      [
        { type: "connection_init" },
        ...[1, 2].map(() => ({ id: "1", type: "subscribe", payload: { query: "subscription { ticks { n } }" } })),
      ],
      4409,
    ],
    ["nothing at all for too long", [], 4408],
  ] as const)("The server closes a WebSocket for %s", async (_name, messages, code) => {
    const { app } = tickingApp({ subscriptions: { initTimeout: messages.length === 0 ? 0.05 : 30 } });
    const { send, closing } = await rawSocket(await start(app));
    for (const message of messages) send(message);
    expect((await closing()).code).toBe(code);
  });

  it("The server replies to a ping with a pong", async () => {
    const { send, messages } = await rawSocket(await start(tickingApp().app));
    send({ type: "ping", payload: { a: 1 } });
    await expect.poll(() => messages).toEqual([{ type: "pong", payload: { a: 1 } }]);
  });

  it("A WebSocket client that speaks another protocol is refused", async () => {
    const server = await start(tickingApp().app);
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-ws");
    await new Promise((resolve) => socket.once("error", resolve));
    expect(socket.readyState).not.toBe(WebSocket.OPEN);
  });

  it("The number of subscriptions on one connection is bounded", async () => {
    const { app } = tickingApp({ subscriptions: { maxPerConnection: 2 } });
    const { send, closing } = await rawSocket(await start(app));
    send({ type: "connection_init" });
    for (const id of ["1", "2", "3"])
      send({ id, type: "subscribe", payload: { query: "subscription { ticks { n } }" } });
    expect((await closing()).code).toBe(4429);
  });

  it("A query that the client completes is aborted, and keeps its place until its resolver has ended", async () => {
    const { app } = tickingApp({ subscriptions: { maxPerConnection: 2 } });
    const ends: (() => void)[] = [];
    let aborted = 0;
    app.graphql.query("slow", "Int", (_args, { signal }) => {
      signal.addEventListener("abort", () => aborted++);
      return new Promise<number>((resolve) => ends.push(() => resolve(1)));
    });
    const { send, messages, closing } = await rawSocket(await start(app));
    send({ type: "connection_init" });
    const run = (id: string): void => send({ id, type: "subscribe", payload: { query: "{ slow }" } });
    for (let i = 0; i < 2; i++) {
      run(`${i}`);
      await expect.poll(() => ends.length).toBe(i + 1);
      send({ id: `${i}`, type: "complete" });
      await expect.poll(() => aborted).toBe(i + 1);
    }
    // One resolver ends: there is a place again, and none for two.
    ends[0]!();
    send({ type: "ping" });
    await expect.poll(() => messages.at(-1)?.type).toBe("pong");
    run("0");
    await expect.poll(() => ends.length).toBe(3);
    run("3");
    expect((await closing()).code).toBe(4429);
    expect(ends).toHaveLength(3);
  });

  it("A query keeps its place while resolvers run that an error did not wait for, and they are aborted", async () => {
    const { app } = tickingApp({ subscriptions: { maxPerConnection: 1 } });
    let aborted = 0;
    let end = (): void => {};
    app.graphql.query("required", "Int!", () => Promise.reject(new Error("no value")));
    app.graphql.query("slow", "Int", (_args, { signal }) => {
      signal.addEventListener("abort", () => aborted++);
      return new Promise<number>((resolve) => {
        end = () => resolve(1);
      });
    });
    const { send, messages, closing } = await rawSocket(await start(app));
    send({ type: "connection_init" });
    const run = (id: string): void => send({ id, type: "subscribe", payload: { query: "{ slow required }" } });
    run("1");
    await expect.poll(() => messages.at(-1)).toEqual({ id: "1", type: "complete" });
    await expect.poll(() => aborted).toBe(1);
    end();
    send({ type: "ping" });
    await expect.poll(() => messages.at(-1)?.type).toBe("pong");
    run("2");
    await expect.poll(() => aborted).toBe(2);
    run("3");
    expect((await closing()).code).toBe(4429);
  });

  it("A subscription keeps its place until its source has ended", async () => {
    const { app } = tickingApp({ subscriptions: { maxPerConnection: 1 } });
    let started = 0;
    app.graphql.subscription("deaf", "Int!", async function* () {
      started++;
      await new Promise(() => {});
      yield 1;
    });
    const { send, closing } = await rawSocket(await start(app));
    send({ type: "connection_init" });
    send({ id: "1", type: "subscribe", payload: { query: "subscription { deaf }" } });
    await expect.poll(() => started).toBe(1);
    send({ id: "1", type: "complete" });
    send({ id: "2", type: "subscribe", payload: { query: "subscription { deaf }" } });
    expect((await closing()).code).toBe(4429);
    expect(started).toBe(1);
  });

  it("The number of subscriptions in the process is bounded over both protocols, and one that ends makes room", async () => {
    const { app, topic } = tickingApp({ subscriptions: { maxPerProcess: 1 } });
    const server = await start(app);
    const first = await rawSocket(server);
    const subscribe = { id: "1", type: "subscribe", payload: { query: "subscription { ticks { n } }" } };
    first.send({ type: "connection_init" });
    first.send(subscribe);
    await expect.poll(() => topic.size()).toBe(1);
    const second = await rawSocket(server);
    second.send({ type: "connection_init" });
    second.send(subscribe);
    await expect
      .poll(() => second.messages[1])
      .toMatchObject({ type: "error", payload: [{ message: "Too many subscriptions." }] });
    expect(await sse(server, "subscription { count(to: 1) }")).toContain("Too many subscriptions.");
    first.send({ id: "1", type: "complete" });
    await expect.poll(() => topic.size()).toBe(0);
    await expect.poll(() => sse(server, "subscription { count(to: 1) }")).toContain('{"data":{"count":1}}');
  });

  it("Scoped dependencies are disposed after each operation of a WebSocket", async () => {
    const { app } = tickingApp();
    const made: number[] = [];
    const disposed: number[] = [];
    app.registerScoped("unit", { dispose: (unit: { id: number }) => void disposed.push(unit.id) }, () => {
      made.push(made.length);
      return { id: made.length };
    });
    app.graphql.query(
      "unit",
      { type: "Int", inject: { unit: Depends<{ id: number }>("unit") } },
      (_args, _context, { unit }) => unit.id,
    );
    const client = wsClient(await start(app));
    await collect(client, "{ a: unit b: unit }");
    await collect(client, "{ unit }");
    await expect.poll(() => disposed).toEqual([1, 2]);
  });

  it("A WebSocket is closed with 1001 when the server stops, and the sources of its subscriptions end", async () => {
    const { app, topic } = tickingApp();
    const server = await serve(app, { debug: false });
    const { send, closing } = await rawSocket(server);
    send({ type: "connection_init" });
    send({ id: "1", type: "subscribe", payload: { query: "subscription { ticks { n } }" } });
    await expect.poll(() => topic.size()).toBe(1);
    await server.close();
    expect((await closing()).code).toBe(1001);
    expect(await topic.size()).toBe(0);
  });

  it("A subscription ends with the token of its client: a WebSocket with 4401, an event stream by its end", async () => {
    const jwt = new JwtAuth({ secret: "a secret of at least thirty-two bytes" });
    const { app, topic } = tickingApp();
    app.use(jwt);
    const server = await start(app);
    const token = jwt.createToken();
    const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
    const socket = await rawSocket(server, undefined, { headers });
    socket.send({ type: "connection_init" });
    socket.send({ type: "subscribe", id: "1", payload: { query: "subscription { ticks { n } }" } });
    const query = encodeURIComponent("subscription { ticks { n } }");
    const stream = await fetch(`${server.url}/graphql?query=${query}`, { headers });
    await expect.poll(() => topic.size()).toBe(2);
    await jwt.revoke(token);
    expect((await socket.closing()).code).toBe(4401);
    expect(await stream.text()).not.toContain("next");
    await expect.poll(() => topic.size()).toBe(0);
  });

  it("The source of a subscription ends when its WebSocket client takes no events for the time of sendTimeout", async () => {
    const app = quietApp();
    const topic = new Topic<string>(app);
    app.enableGraphql({ subscriptions: { sendTimeout: 0.2 } });
    app.graphql.query("hello", "String", () => "hello");
    app.graphql.subscription("texts", "String!", () => topic.room.subscribe());
    const { socket, send } = await rawSocket(await start(app));
    send({ type: "connection_init" });
    send({ id: "1", type: "subscribe", payload: { query: "subscription { texts }" } });
    await expect.poll(() => topic.size()).toBe(1);
    socket.pause();
    const text = "x".repeat(1_000_000);
    for (let i = 0; i < 60; i++) await topic.publish(text);
    await expect.poll(() => topic.size(), { timeout: 20_000 }).toBe(0);
  });

  it("A schema without subscriptions has no WebSocket endpoint", async () => {
    const server = await start(graphqlApp({ typeDefs: "type Query { a: Int }" }));
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await new Promise((resolve) => socket.once("error", resolve));
    expect(socket.readyState).not.toBe(WebSocket.OPEN);
  });
});

/** The text of an event stream that ends. */
async function sse(server: TestServer, query: string): Promise<string> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const response = await fetch(`${server.url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  return response.text();
}

/** Begins an event stream; the returned function leaves it. */
async function openStream(server: TestServer, query: string): Promise<() => void> {
  const abort = new AbortController();
  const headers = { accept: "text/event-stream" };
  await fetch(`${server.url}/graphql?query=${encodeURIComponent(query)}`, { headers, signal: abort.signal });
  return () => abort.abort();
}

describe("subscriptions over server-sent events", () => {
  it("A subscription over server-sent events sends each event to the client of graphql-sse, and then completes", async () => {
    const server = await start(tickingApp().app);
    const client = createSseClient({ url: `${server.url}/graphql`, retryAttempts: 0 });
    const results: unknown[] = [];
    for await (const result of client.iterate({ query: "subscription { count(to: 3) }" })) results.push(result);
    expect(results).toEqual([1, 2, 3].map((count) => ({ data: { count } })));
    client.dispose();
  });

  it("An event stream carries queries too, and errors of a source without their details", async () => {
    const server = await start(tickingApp().app);
    expect(await sse(server, "{ hello }")).toBe(
      'event: next\ndata: {"data":{"hello":"hello"}}\n\nevent: complete\ndata: \n\n',
    );
    const text = await sse(server, "subscription { fails }");
    expect(text).toContain("Internal Server Error");
    expect(text).not.toContain("secret");
    expect(text).toContain("event: complete");
  });

  it("The source of a subscription ends when the client of the event stream disconnects", async () => {
    const { app, topic } = tickingApp();
    const server = await start(app);
    const leave = await openStream(server, "subscription { ticks { n } }");
    await expect.poll(() => topic.size()).toBe(1);
    leave();
    await expect.poll(() => topic.size()).toBe(0);
  });

  it("An event stream of a subscription completes when the server stops", async () => {
    const { app, topic } = tickingApp();
    const server = await serve(app, { debug: false });
    const text = sse(server, "subscription { ticks { n } }");
    await expect.poll(() => topic.size()).toBe(1);
    await server.close();
    expect(await text).toBe("event: complete\ndata: \n\n");
    expect(await topic.size()).toBe(0);
  });

  it("A subscription as an ordinary response is refused with 406, and the error names text/event-stream", async () => {
    const server = await start(tickingApp().app);
    const response = await fetch(`${server.url}/graphql?query=subscription{count(to:1)}`);
    expect(response.status).toBe(406);
    expect(await response.text()).toContain("text/event-stream");
  });
});
