import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import { sql } from "../../../src/engines/db/sql/sql.js";
import { CqrsConfig } from "../../../src/patterns/cqrs/config.js";
import { CommandTimeout, command, IdempotencyError, query } from "../../../src/patterns/cqrs/message.js";
import { ConcurrencyError } from "../../../src/patterns/events/errors.js";
import { projection } from "../../../src/patterns/events/projections/projection.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { Order } from "../events/order.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");

describe("commands and queries", () => {
  const apps: App[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.stop())));
  const create = (options: object = {}): App => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    return app.enableCqrs(options);
  };
  const add = command("add", {
    schema: z.object({ a: z.number(), b: z.coerce.number() }),
    handler: ({ a, b }) => ({ sum: a + b }),
  });

  it("The options have defaults, both spellings and the order of the contract", () => {
    expect(new CqrsConfig()).toMatchObject({ enableEventSync: false, commandTimeoutMs: 30_000 });
    expect(new CqrsConfig({ enable_event_sync: true, command_timeout_ms: 10 }).command_timeout_ms).toBe(10);
    expect(new CqrsConfig(true, 7)).toMatchObject({ enableEventSync: true, commandTimeoutMs: 7 });
    expect(() => create({ command_timeout: 3 })).toThrow("did you mean 'command_timeout_ms'?");
    expect(() => new App().commands).toThrow("app.commands needs app.enableCqrs()");
  });

  it("A command with event sync and without an event store is not synced", async () => {
    const app = create({ enableEventSync: true });
    await app.start();
    expect(await app.commands.execute(add, { a: 1, b: 2 })).toMatchObject({ value: { sum: 3 }, synced: false });
    const off = create();
    await off.start();
    expect(await off.commands.execute(add, { a: 1, b: 2 })).toMatchObject({ synced: true });
    const on = create({ enableEventSync: true }).enableEventSourcing("memory");
    await on.start();
    expect(await on.commands.execute(add, { a: 1, b: 2 })).toMatchObject({ synced: true });
  });

  it("A command runs with its checked input, and a wrong input is a 422", async () => {
    const app = create();
    const result = await app.commands.execute(add, { a: 1, b: "2" });
    expect(result).toEqual({ value: { sum: 3 }, repeated: false, synced: true });
    await expect(app.commands.execute(add, { a: "x" } as never)).rejects.toMatchObject({ status: 422 });
    const total = query("total", { handler: async () => 7 });
    expect(await app.queries.execute(total, undefined)).toEqual({ value: 7 });
    await expect(app.queries.execute(add as never, {} as never)).rejects.toThrow("made by query()");
  });

  it("A command that takes too long has its signal aborted, and its late result is discarded", async () => {
    const app = create({ commandTimeoutMs: 20 });
    let aborted = false;
    let end = (): void => {};
    const slow = command("slow", {
      handler: (_: unknown, { signal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener("abort", () => (aborted = true));
          end = () => resolve("late");
        }),
    });
    await expect(app.commands.execute(slow, null)).rejects.toThrow(CommandTimeout);
    expect(aborted).toBe(true);
    end();
    // A handler that looks at its signal only then finds it aborted.
    let looked: boolean | undefined;
    let goOn = (): void => {};
    const patient = command("patient", {
      handler: async (_: unknown, context) => {
        await new Promise<void>((resolve) => (goOn = resolve));
        looked = context.signal.aborted;
      },
    });
    await expect(app.commands.execute(patient, null)).rejects.toThrow(CommandTimeout);
    goOn();
    await vi.waitFor(() => expect(looked).toBe(true));
    const controller = new AbortController();
    const call = app.commands.execute(slow, null, { signal: controller.signal });
    controller.abort(new Error("client gone"));
    await expect(call).rejects.toThrow("client gone");
  });

  it("A command that conflicts with another writer runs again, and other failures do not", async () => {
    const app = create({ retries: 2 });
    const attempts: number[] = [];
    const conflicts = (times: number) =>
      command(`conflicts${times}`, {
        handler: (_: unknown, { attempt }) => {
          attempts.push(attempt);
          if (attempt <= times) throw new ConcurrencyError("a-1", 1, 2);
          return "done";
        },
      });
    expect((await app.commands.execute(conflicts(2), null)).value).toBe("done");
    expect(attempts.splice(0)).toEqual([1, 2, 3]);
    await expect(app.commands.execute(conflicts(3), null)).rejects.toThrow(ConcurrencyError);
    expect(attempts.splice(0)).toEqual([1, 2, 3]);
    const broken = command("broken", {
      handler: (_: unknown, { attempt }) => {
        attempts.push(attempt);
        throw new Error("no");
      },
    });
    await expect(app.commands.execute(broken, null)).rejects.toThrow("no");
    expect(attempts.splice(0)).toEqual([1]);
    // The number of a command is used in place of the config's, also none.
    const once = command("once", {
      retries: 0,
      handler: (_: unknown, { attempt }) => {
        attempts.push(attempt);
        throw new ConcurrencyError("a-1", 1, 2);
      },
    });
    await expect(app.commands.execute(once, null)).rejects.toThrow(ConcurrencyError);
    expect(attempts).toEqual([1]);
  });

  it("Middleware runs around every command, the first one outermost, and can replace the result", async () => {
    const app = create();
    const order: string[] = [];
    app.commands.use(async ({ name, kind, input }, next) => {
      order.push(`${kind} ${name} ${JSON.stringify(input)}`);
      return { ...((await next()) as object), seen: true };
    });
    app.commands.use(async (_, next) => {
      order.push("inner");
      return next();
    });
    expect((await app.commands.execute(add, { a: 1, b: 1 })).value).toEqual({ sum: 2, seen: true });
    expect(order).toEqual(['command add {"a":1,"b":1}', "inner"]);
    expect(() => app.commands.use(1 as never)).toThrow("use() takes a function");
  });

  it("A route runs a command with its body, and shows it in the API's documentation", async () => {
    const app = create();
    app.post("/sums", ...app.commands.route(add));
    app.post("/now", ...app.queries.route(query("now", { handler: () => ({ time: 1 }) })));
    app.enableOpenapi();
    const post = (path: string, body: unknown) =>
      app.request(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
    const response = await post("/sums", { a: 1, b: 4 });
    expect([response.status, await response.json()]).toEqual([200, { sum: 5 }]);
    expect((await post("/sums", { a: "x" })).status).toBe(422);
    expect(await (await post("/now", null)).json()).toEqual({ time: 1 });
    const document = (await (await app.request("/openapi.json")).json()) as { paths: Record<string, unknown> };
    expect(document.paths["/sums"]).toMatchObject({ post: { requestBody: {}, responses: { 409: {}, 504: {} } } });
    expect(document.paths["/now"]).not.toMatchObject({ post: { responses: { 409: {} } } });
  });

  it("A route of a query reads the query string, and a schema that changes its input is applied once", async () => {
    const app = create().enableOpenapi({ title: "t" });
    const since = query("since", {
      schema: z.object({ day: z.string().transform((text) => new Date(text)) }),
      result: z.object({ year: z.number() }),
      handler: ({ day }) => ({ year: day.getUTCFullYear() }),
    });
    const note = command("note", {
      schema: z.object({ text: z.string().transform((text) => ({ text })) }),
      handler: ({ text }) => text.text,
    });
    app.get("/since", ...app.queries.route(since));
    app.post("/notes", ...app.commands.route(note));
    await app.start();
    expect(await (await app.request("/since?day=2024-05-01")).json()).toEqual({ year: 2024 });
    expect((await app.request("/since")).status).toBe(422);
    const headers = { "content-type": "application/json" };
    const posted = await app.request("/notes", { method: "POST", body: JSON.stringify({ text: "a" }), headers });
    expect([posted.status, await posted.text()]).toEqual([200, "a"]);
    const document = (await (await app.request("/openapi.json")).json()) as { paths: Record<string, unknown> };
    expect(document.paths["/since"]).toMatchObject({ get: { parameters: [{ name: "day", in: "query" }] } });
  });

  it("The signal of the caller ends a command, and a query has the same time limit", async () => {
    const app = create({ commandTimeoutMs: 20 });
    const aborted: boolean[] = [];
    let begun = 0;
    const wait = (_input: unknown, { signal }: { signal: AbortSignal }): Promise<never> => {
      begun++;
      return new Promise(() => signal.addEventListener("abort", () => aborted.push(true)));
    };
    const slow = query("slow", { handler: wait });
    const endless = command("endless", { handler: wait, timeoutMs: 1_000_000 });
    await app.start();
    await expect(app.queries.execute(slow, null)).rejects.toThrow(CommandTimeout);
    const caller = new AbortController();
    const call = app.commands.execute(endless, null, { signal: caller.signal });
    await vi.waitFor(() => expect(begun).toBe(2));
    caller.abort(new Error("the client has left"));
    await expect(call).rejects.toThrow("the client has left");
    await expect(app.commands.execute(endless, null, { signal: caller.signal })).rejects.toThrow("the client has left");
    expect(aborted).toEqual([true, true]);
  });

  it("Each of several commands with one time limit ends in its own time, and the context of a handler is plain", async () => {
    const app = create({ commandTimeoutMs: 30 });
    const contexts: string[] = [];
    const wait = command("wait", {
      handler: ({ n }: { n: number }, context) => {
        contexts.push(JSON.stringify(context));
        return n % 2 === 0 ? new Promise<number>(() => {}) : Promise.resolve(n);
      },
    });
    await app.start();
    const calls = [0, 1, 2].map((n) => app.commands.execute(wait, { n }));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value.value : one.reason.constructor))).toEqual([
      CommandTimeout,
      1,
      CommandTimeout,
    ]);
    expect(JSON.parse(contexts[1]!)).toEqual({ kind: "command", name: "wait", input: { n: 1 }, attempt: 1 });
    expect((await app.commands.execute(wait, { n: 3 })).value).toBe(3);
  });

  it("Commands are counted by outcome and timed in the metrics", async () => {
    const app = create({ commandTimeoutMs: 20 }).enableMetrics();
    const fail = command("fail", { handler: () => Promise.reject(new Error("no")) });
    const hang = command("hang", { handler: () => new Promise<never>(() => {}) });
    await app.start();
    await app.commands.execute(add, { a: 1, b: 2 });
    await expect(app.commands.execute(fail, null)).rejects.toThrow("no");
    await expect(app.commands.execute(hang, null)).rejects.toThrow(CommandTimeout);
    const text = await (await app.request("/metrics")).text();
    for (const [name, outcome] of [
      ["add", "done"],
      ["fail", "failed"],
      ["hang", "timeout"],
    ]) {
      expect(text).toMatch(new RegExp(`messages_total\\{kind="command",name="${name}",outcome="${outcome}"\\} 1`));
    }
    expect(text).toContain('message_duration_seconds_count{kind="command",name="add"} 1');
    // In seconds: as microseconds the time limit alone would be 20,000.
    const [, sum] = /message_duration_seconds_sum\{kind="command",name="hang"\} (\S+)/.exec(text)!;
    expect(Number(sum)).toBeLessThan(10_000);
  });

  it("Wrong messages are refused with a message", async () => {
    expect(() => command("a b", { handler: () => 1 })).toThrow("the name of a command");
    expect(() => command("a", { handler: 3 as never })).toThrow("option 'handler' in command \"a\"");
    expect(() => query("a", { handler: () => 1, schema: 3 as never })).toThrow(
      "option 'schema' in query \"a\" must be a schema",
    );
    const app = create();
    await app.start();
    const lonely = command("lonely");
    await expect(app.commands.execute(lonely, null)).rejects.toThrow('the command "lonely" has no handler');
    expect(() => app.commands.handler(add, () => ({ sum: 1 }))).toThrow('the command "add" has a handler already');
    expect(() => app.queries.handler(add as never, () => 1)).toThrow("made by query()");
    await expect(app.commands.execute(add, { a: 1, b: 1 }, { idempotenceKey: "k" } as never)).rejects.toThrow(
      "unknown option 'idempotenceKey' in execute(); did you mean 'idempotencyKey'?",
    );
    const call = app.commands.execute(add, { a: 1, b: 1 }, { idempotencyKey: "k" });
    await expect(call).rejects.toThrow("idempotency keys need app.enableDatabase()");
  });
});

describe.each(engines(server))("commands with a database in $name", (engine) => {
  let app: App;
  let drop: () => Promise<void>;
  let url: string;
  let ran = 0;
  let gate: Promise<void> = Promise.resolve();
  const charge = command("charge", {
    schema: z.object({ amount: z.number() }),
    handler: async ({ amount }) => {
      ran++;
      await gate;
      if (amount < 0) throw new Error("refused");
      return { charged: amount, run: ran };
    },
  });
  const totals = projection("totals", {
    from: Order,
    tables: ["totals"],
    create: (tx, tables) => tx.execute(sql`create table ${tables.totals} (stream text primary key, total int)`),
    on: {
      ItemAdded: (event, { tx, tables }) =>
        tx.execute(sql`insert into ${tables.totals} as t values (${event.stream}, ${event.data.price})
          on conflict (stream) do update set total = t.total + excluded.total`),
    },
  });
  beforeAll(async () => {
    const made = await engine.make();
    ({ drop, url } = made);
    app = new App();
    app.logger = quiet;
    app
      .enableDatabase({ url: made.url, poolSize: 5 })
      .enableEventSourcing({ poll: "50ms" })
      .enableCqrs({ enableEventSync: true, eventSyncTimeout: "20s" });
    app.eventStore.project(totals);
    app.post("/charges", ...app.commands.route(charge));
    await app.start();
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });

  it("A command with the same idempotency key has its effect once, and other inputs with it are refused", async () => {
    ran = 0;
    const { commands } = app;
    const first = await commands.execute(charge, { amount: 5 }, { idempotencyKey: "k1" });
    const again = await commands.execute(charge, { amount: 5 }, { idempotencyKey: "k1" });
    expect([first.value, again]).toEqual([
      { charged: 5, run: 1 },
      { value: { charged: 5, run: 1 }, repeated: true, synced: true },
    ]);
    await expect(commands.execute(charge, { amount: 6 }, { idempotencyKey: "k1" })).rejects.toThrow(IdempotencyError);
    await expect(commands.execute(charge, { amount: -1 }, { idempotencyKey: "k2" })).rejects.toThrow("refused");
    await expect(commands.execute(charge, { amount: -1 }, { idempotencyKey: "k2" })).rejects.toThrow("refused");
    expect(ran).toBe(3);
    await expect(commands.execute(charge, { amount: 1 }, { idempotencyKey: "" })).rejects.toThrow(
      "1 to 255 characters",
    );
  });

  it("A command has its effect again when its key is older than idempotencyRetention", async () => {
    const other = new App();
    other.logger = quiet;
    other.enableDatabase({ url, poolSize: 2 }).enableCqrs({ idempotencyRetention: 0, schema: "short" });
    await other.start();
    const execute = async (idempotencyKey: string): Promise<boolean> =>
      (await other.commands.execute(charge, { amount: 5 }, { idempotencyKey })).repeated;
    // The first command of a process deletes what is too old, itself included.
    expect([await execute("k1"), await execute("k1")]).toEqual([false, false]);
    await other.stop();
  });

  it("A second call while the first one with its key runs is a 409, also over HTTP", async () => {
    let open = (): void => {};
    gate = new Promise((resolve) => (open = resolve));
    const call = () =>
      app.request("/charges", {
        method: "POST",
        body: JSON.stringify({ amount: 9 }),
        headers: { "content-type": "application/json", "idempotency-key": "http" },
      });
    const before = ran;
    const first = call();
    await vi.waitFor(() => expect(ran).toBe(before + 1), 20_000);
    expect((await call()).status).toBe(409);
    open();
    const value = await (await first).json();
    expect(await (await call()).json()).toEqual(value);
    expect(ran).toBe(before + 1);
  });

  it("A key that cannot be kept is a 400, and an input may contain any character", async () => {
    const call = (key: string, on = app) =>
      on.request("/charges", {
        method: "POST",
        body: JSON.stringify({ amount: 9 }),
        headers: { "content-type": "application/json", "idempotency-key": key },
      });
    expect((await call("k".repeat(256))).status).toBe(400);
    const plain = new App();
    plain.logger = quiet;
    plain.enableCqrs();
    plain.post("/charges", ...plain.commands.route(charge));
    await plain.start();
    expect((await call("k", plain)).status).toBe(400);
    await plain.stop();
    const length = command("length", { handler: (text: string) => text.length });
    const run = () => app.commands.execute(length, "a\0\ud800", { idempotencyKey: "any character" });
    expect([(await run()).value, (await run()).repeated]).toEqual([3, true]);
  });

  it("A client that gives up and calls again with the same key does not run the command twice", async () => {
    let open = (): void => {};
    gate = new Promise((resolve) => (open = resolve));
    const before = ran;
    const impatient = new AbortController();
    const call = (signal?: AbortSignal) =>
      app.commands.execute(charge, { amount: 11 }, { idempotencyKey: "gone", signal });
    const first = call(impatient.signal);
    await vi.waitFor(() => expect(ran).toBe(before + 1), 20_000);
    impatient.abort(new Error("the client is gone"));
    await expect(first).rejects.toThrow("the client is gone");
    await expect(call()).rejects.toThrow(IdempotencyError);
    open();
    // The result of the first run is kept, though nobody waited for it.
    const again = await vi.waitFor(() => call(), 20_000);
    expect(again).toMatchObject({ repeated: true, value: { charged: 11, run: before + 1 } });
    expect(ran).toBe(before + 1);
  });

  it("A command whose result cannot be kept is not run again with its key", async () => {
    let runs = 0;
    const odd = command("odd", { handler: async () => ({ run: ++runs, big: 1n }) });
    const call = () => app.commands.execute(odd, null, { idempotencyKey: "odd" });
    await expect(call()).rejects.toThrow("the result of a command cannot be written as JSON");
    expect(await call()).toMatchObject({ value: null, repeated: true });
    expect(runs).toBe(1);
  });

  it("Keys of commands that never ended are deleted after their time", async () => {
    const { IdempotencyKeys } = await import("../../../src/patterns/cqrs/idempotency.js");
    const left = "select key from stoa.command_results where name = 'left' order by key";
    const insert = `insert into stoa.command_results (name, key, fingerprint, lease_until) values
      ('left', 'old', '', now() - interval '2 days'), ('left', 'recent', '', now() - interval '1 hour')`;
    await app.database.execute(insert);
    const keys = new IdempotencyKeys(app.database, "stoa", 86_400);
    const taken = await keys.take("left", "own", null, 1000);
    await keys.finish("left", "own", (taken as { token: number }).token, 1);
    expect(await app.database.fetch(left)).toEqual([{ key: "own" }, { key: "recent" }]);
  });

  it("A command waits for projections no longer than its limit, and says that they are behind", async () => {
    const made = await engine.make();
    const other = new App();
    other.logger = quiet;
    other
      .enableDatabase({ url: made.url, poolSize: 5 })
      .enableEventSourcing({ poll: "50ms" })
      .enableCqrs({ enableEventSync: true, eventSyncTimeout: "30ms" });
    await other.start();
    try {
      await other.eventStore.project(totals).close();
      const put = command("put", {
        handler: () => other.eventStore.append("order-9", { type: "ItemAdded", data: { sku: "a", price: 1 } }),
        affects: [totals],
      });
      expect(await other.commands.execute(put, null)).toMatchObject({ value: { version: 1 }, synced: false });
      // The client of a lost response calls again: there is nothing left to do, and still nothing to read.
      const same = command("same", {
        handler: () => other.eventStore.repository(Order).update("9", () => ({})),
        affects: [totals],
      });
      for (const repeated of [false, true]) {
        const result = await other.commands.execute(same, null, { idempotencyKey: "same" });
        expect(result).toMatchObject({ repeated, synced: false });
      }
    } finally {
      await other.stop();
      await made.drop();
    }
  });

  it("With event sync a command returns when the projections have processed its events", async () => {
    const orders = app.eventStore.repository(Order);
    const buy = command("buy", {
      affects: [totals],
      schema: z.object({ id: z.string() }),
      handler: ({ id }) => orders.update(id, (order) => order.add("tea", 5), { create: true }),
    });
    for (const total of [5, 10, 15]) {
      expect(await app.commands.execute(buy, { id: "1" })).toMatchObject({ synced: true });
      expect(await app.database.fetchval("select total from totals where stream = 'order-1'")).toBe(total);
    }
  });
});
