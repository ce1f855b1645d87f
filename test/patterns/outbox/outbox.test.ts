import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App, hostOf } from "../../../src/app/app.js";
import { MessagingError } from "../../../src/engines/messaging/errors.js";
import { MemoryBroker } from "../../../src/engines/messaging/memory/memory-broker.js";
import { MemoryHub } from "../../../src/engines/messaging/memory/memory-hub.js";
import { messagingState } from "../../../src/engines/messaging/state.js";
import { topic } from "../../../src/engines/messaging/topic.js";
import type { Job } from "../../../src/patterns/jobs/feature.js";
import type { OutboxOptions } from "../../../src/patterns/outbox/options.js";
import { emptyDatabases, engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const empty = emptyDatabases(server);
const patient = { timeout: 20_000, interval: 10 };
const Order = z.object({ id: z.string(), total: z.number() });
const orders = topic("orders", { schema: Order, key: (order) => order.id });

describe.each(engines(server))("the outbox in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  let app: App;
  let mail: Job<string>;
  const mailed: string[] = [];
  const hub = new MemoryHub();
  /** Errors of the broker by topic. */
  const refused = new Map<string, MessagingError>();

  /** Called before the broker takes records. */
  let before: (records: Parameters<MemoryBroker["publish"]>[0]) => Promise<unknown> = async () => {};

  class FailingBroker extends MemoryBroker {
    override async publish(records: Parameters<MemoryBroker["publish"]>[0]) {
      await before(records);
      const outcomes = await super.publish(records.filter(({ topic }) => !refused.has(topic)));
      return records.map(({ topic }) => refused.get(topic) ?? outcomes[0] ?? null);
    }
  }

  const create = (options: OutboxOptions = {}): App => {
    const one = new App();
    one.logger = quiet;
    messagingState(hostOf(one)).replacement = () => new FailingBroker({ hub });
    return one
      .enableDatabase({ url, poolSize: 5 })
      .enableMemoryBroker()
      .enableOutbox({ poll: "50ms", lease: "2s", backoff: "1ms", attempts: 3, ...options });
  };
  const published = (name: string) =>
    hub.records(name).map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as unknown);
  const empty = () =>
    vi.waitFor(
      async () => expect(await app.database.fetchval("select count(*)::int from stoa.outbox")).toBe(0),
      patient,
    );

  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = create();
    app.enableMetrics().enableHealthChecks().enableEventSourcing({ poll: "50ms" });
    mail = app.job<string>("mail", {}, (to) => mailed.push(to));
    await app.start();
    await app.database.script("create table notes (id text primary key)");
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });

  it("A message of a transaction is published after the commit", async () => {
    const id = await app.database.transaction(async (tx) => {
      await tx.execute("insert into notes values ('a')");
      const stored = await tx.publish(orders, { id: "a", total: 1 }, { headers: { tenant: "t" } });
      expect(published("orders")).toEqual([]);
      return stored.id;
    });
    await vi.waitFor(() => expect(published("orders")).toEqual([{ id: "a", total: 1 }]), patient);
    const [record] = hub.records("orders");
    expect(record).toMatchObject({ id, key: "a", headers: { tenant: "t", "content-type": "application/json" } });
    expect(Math.abs(record!.timestamp - Date.now())).toBeLessThan(60_000);
    await empty();
  });

  it("A transaction that is rolled back publishes nothing, also one inside another", async () => {
    const failing = app.database.transaction(async (tx) => {
      await tx.publish("rolled", 1);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    await app.database.transaction(async (tx) => {
      await tx.publish("rolled", 2);
      const inner = tx.transaction(async (savepoint) => {
        await savepoint.publish("rolled", 3);
        throw new Error("no");
      });
      await inner.catch(() => {});
      await tx.publish("rolled", 4);
    });
    await empty();
    await vi.waitFor(() => expect(published("rolled")).toEqual([2, 4]), patient);
  });

  it("A value that does not fit the schema of its topic, a wrong option and a message that is too large are refused before they are stored", async () => {
    await app.database.transaction(async (tx) => {
      // @ts-expect-error the total is missing
      await expect(tx.publish(orders, { id: "a" })).rejects.toThrow(/does not fit the schema of 'orders'/);
      await expect(tx.publish("x", 1, { keys: "a" } as object)).rejects.toThrow(/unknown option 'keys'/);
      await expect(tx.publish("x", "y".repeat(1024 * 1024))).rejects.toThrow(/the memory broker takes 1048576/);
      await expect(tx.publish("x", 1, { key: "a\0b" })).rejects.toThrow(/U\+0000/);
      await expect(tx.publishBatch("x", [1] as never)).rejects.toThrow(/an entry of publishBatch\(\) is/);
      // The transaction can still be used.
      await tx.publish("after-mistakes", 1);
    });
    await vi.waitFor(() => expect(published("after-mistakes")).toEqual([1]), patient);
  });

  it("app.outbox.publish takes part in the transaction around the caller and stores at once without one", async () => {
    const failing = app.database.transaction(async () => {
      await app.outbox.publish("around", 1);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    await app.outbox.publish("around", 2);
    await app.database.transaction(() => app.outbox.publishBatch("around", [{ value: 3 }, { value: 4, key: "k" }]));
    await vi.waitFor(() => expect(published("around")).toEqual([2, 3, 4]), patient);
  });

  it("Bytes, text with U+0000 and half of a surrogate pair reach the broker as they were given", async () => {
    const bytes = Uint8Array.from([0, 255, 1]);
    await app.database.transaction(async (tx) => {
      await tx.publish("raw", bytes);
      await tx.publish("raw", bytes, { headers: { "content-type": "application/json" } });
      await tx.publish("raw", { text: "a\0b\ud800" });
      await tx.publishBatch("raw", [{ value: bytes }, { value: "ü" }]);
    });
    await vi.waitFor(() => expect(hub.records("raw")).toHaveLength(5), patient);
    const bodies = hub.records("raw").map(({ body }) => Buffer.from(body));
    expect(bodies[0]).toEqual(Buffer.from(bytes));
    expect(bodies[1]).toEqual(Buffer.from(bytes));
    expect(bodies[2]!.toString()).toBe(JSON.stringify({ text: "a\0b\ud800" }));
    expect(bodies[3]).toEqual(Buffer.from(bytes));
    expect(bodies[4]!.toString()).toBe('"ü"');
  });

  it("The trace of the caller is stored with the message and reaches its consumers", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const other = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    const consumer = await app.subscribe("traced", {}, async () => {
      // Without a tracer a message that is published by a handler belongs to the trace of its message.
      await app.outbox.publish("traced-on", 1);
    });
    await app.outbox.publish("traced", 1, { headers: { traceparent } });
    await vi.waitFor(() => expect(hub.records("traced-on")[0]?.headers).toMatchObject({ traceparent }), patient);
    await consumer.close();
    const span = { headers: () => ({ traceparent: other }), set: vi.fn(), end: vi.fn() };
    app.messaging.tracer = { start: () => span } as never;
    await app.outbox.publish("traced-on", 2);
    app.messaging.tracer = null;
    await vi.waitFor(() => expect(hub.records("traced-on")[1]?.headers["traceparent"]).toBe(other), patient);
    expect(span.end).toHaveBeenCalledTimes(1);
  });

  it("A delayed message is published when its time has come, and does not hold up others with its key", async () => {
    await app.database.transaction(async (tx) => {
      await tx.publish("later", "second", { key: "k", delay: 0.3 });
      await tx.publish("later", "first", { key: "k" });
      await tx.publishBatch("later", [{ value: "third", delay: 3600 }]);
    });
    await vi.waitFor(() => expect(published("later")).toEqual(["first", "second"]), patient);
    await vi.waitFor(async () => expect((await app.outbox.status()).delayed).toBe(1), patient);
    await app.database.execute("delete from stoa.outbox where topic = 'later'");
  });

  it("Events, jobs and messages of one transaction are stored together or not at all", async () => {
    const all = async (fails: boolean): Promise<void> => {
      await app.database.transaction(async (tx) => {
        await app.eventStore.append("thing-1", { type: "Happened", data: {} });
        await app.database.current.execute("insert into notes values ('together')");
        await mail.enqueue("ada", { tx });
        await mail.enqueue("bob");
        await tx.publish("together", 1);
        if (fails) throw new Error("no");
      });
    };
    await expect(all(true)).rejects.toThrow("no");
    expect(await app.eventStore.read("thing-1")).toEqual([]);
    await all(false);
    expect(await app.eventStore.read("thing-1")).toHaveLength(1);
    await vi.waitFor(() => expect(published("together")).toEqual([1]), patient);
    await vi.waitFor(() => expect(mailed.toSorted()).toEqual(["ada", "bob"]), patient);
  });

  it("A message that keeps failing is stuck, those with its key wait, others continue, and a retry publishes them in order", async () => {
    refused.set("refused", new MessagingError("REFUSED", "no such exchange 17"));
    await app.database.transaction(async (tx) => {
      for (const n of [1, 2, 3]) await tx.publish("refused", n, { key: "k" });
      await tx.publish("others", 1, { key: "k" });
    });
    await vi.waitFor(() => expect(published("others")).toEqual([1]), patient);
    await vi.waitFor(async () => expect(await app.outbox.status()).toMatchObject({ stuck: 1, held: 2 }), patient);
    // One that comes later waits too.
    await app.outbox.publish("refused", 4, { key: "k" });
    await vi.waitFor(
      async () => expect(await app.outbox.status()).toMatchObject({ stuck: 1, held: 3, ready: 0 }),
      patient,
    );

    const [stuck, ...none] = await app.outbox.list();
    expect(none).toEqual([]);
    const failure = "REFUSED: no such exchange #";
    expect(stuck).toMatchObject({
      topic: "refused",
      key: "k",
      text: "1",
      state: "stuck",
      attempts: 3,
      replays: 0,
      failure,
    });
    expect(await app.outbox.failures()).toMatchObject([{ failure, topic: "refused", count: 1, stuck: 1 }]);
    const health = (await (await app.request("/health")).json()) as { checks: Record<string, object> };
    expect(health.checks["outbox"]).toMatchObject({ status: "DEGRADED", message: "1 message is stuck" });
    const metrics = await (await app.request("/metrics")).text();
    expect(metrics).toContain('outbox_messages{state="stuck"} 1');
    expect(metrics).toMatch(/outbox_lag_seconds 0/);
    expect(metrics).toMatch(/outbox_relays 1/);

    // A retry while the cause is still there counts as one.
    expect(await app.outbox.retry({ failure })).toBe(1);
    await vi.waitFor(async () => {
      const [again] = await app.outbox.list({ ids: [stuck!.id] });
      expect(again).toMatchObject({ state: "stuck", replays: 1, attempts: 3 });
    }, patient);
    refused.clear();
    expect(await app.outbox.retry({ topic: "nothing" })).toBe(0);
    expect(await app.outbox.retry({ ids: [stuck!.id] })).toBe(1);
    await vi.waitFor(() => expect(published("refused")).toEqual([1, 2, 3, 4]), patient);
    await empty();
  });

  it("A message that is stored while a failed one of its key goes through is not published before those that wait", async () => {
    refused.set("overtaking", new MessagingError("TOO_LARGE", "too large"));
    await app.outbox.publishBatch(
      "overtaking",
      [1, 2].map((value) => ({ value, key: "k" })),
    );
    await vi.waitFor(async () => expect(await app.outbox.status()).toMatchObject({ stuck: 1, held: 1 }), patient);
    refused.clear();
    let stored = false;
    before = async (records) => {
      if (stored || !records.some(({ topic }) => topic === "overtaking")) return;
      stored = true;
      await app.outbox.publish("overtaking", 3, { key: "k" });
    };
    await app.outbox.retry({ topic: "overtaking" });
    await vi.waitFor(() => expect(published("overtaking")).toHaveLength(3), patient);
    expect(published("overtaking")).toEqual([1, 2, 3]);
    await empty();
  });

  it("The list of failed messages has as many as its limit, and the check is DEGRADED after lagLimit", async () => {
    const other = create({ schema: "silent", relay: false, lagLimit: 0 }).enableHealthChecks();
    await other.start();
    await other.database.transaction(async (tx) => {
      for (const value of [1, 2]) await tx.publish("silent", value);
    });
    await vi.waitFor(async () => {
      const { checks } = (await (await other.request("/health")).json()) as { checks: Record<string, object> };
      expect(checks["outbox"]).toMatchObject({ status: "DEGRADED", message: expect.stringMatching(/^the oldest/) });
    }, patient);
    await other.database.execute("update silent.outbox set state = 'failed', error = 'x'");
    expect([(await other.outbox.list()).length, (await other.outbox.list({ limit: 1 })).length]).toEqual([2, 1]);
    await other.stop();
  });

  it("A stuck message that is discarded lets those behind it continue", async () => {
    refused.set("discarded", new MessagingError("TOO_LARGE", "too large"));
    await app.outbox.publishBatch(
      "discarded",
      [1, 2].map((value) => ({ value, key: "k" })),
    );
    // It is stuck at once: another attempt cannot cure it.
    await vi.waitFor(
      async () => expect(await app.outbox.list()).toMatchObject([{ state: "stuck", attempts: 1 }]),
      patient,
    );
    await vi.waitFor(async () => expect((await app.outbox.status()).held).toBe(1), patient);
    refused.clear();
    for (const lost of [null, { topic: undefined }, { ids: null }]) {
      await expect(app.outbox.discard(lost as never)).rejects.toThrow("outbox.discard() has a filter without a value");
    }
    expect(await app.outbox.discard({ topic: "discarded" })).toBe(1);
    await vi.waitFor(() => expect(published("discarded")).toEqual([2]), patient);
  });

  it("A message with the state held that nothing holds any more is found by the relay", async () => {
    await app.database.execute(
      `insert into stoa.outbox (broker, topic, key, message_id, headers, body, size, state)
       values ('memory', 'forgotten', 'k', 'f1', '{}', '1', 1, 'held')`,
    );
    // A relay that begins looks at them first.
    await app.database.execute("update stoa.outbox_relays set token = token + 1, lease_until = '-infinity'");
    await vi.waitFor(() => expect(published("forgotten")).toEqual([1]), patient);
  });

  it("A topic that cannot be reached rests while others continue, and nothing of it is counted as an attempt", async () => {
    refused.set("away", new MessagingError("UNREACHABLE", "no leader"));
    await app.database.transaction(async (tx) => {
      await tx.publish("away", 1, { key: "k" });
      await tx.publish("near", 1);
    });
    await vi.waitFor(() => expect(published("near")).toEqual([1]), patient);
    await app.outbox.publish("near", 2);
    await vi.waitFor(() => expect(published("near")).toEqual([1, 2]), patient);
    expect(await app.database.fetchval("select attempts from stoa.outbox where topic = 'away'")).toBe(0);
    refused.clear();
    await vi.waitFor(() => expect(published("away")).toEqual([1]), patient);
  });

  it("Messages wait while the broker is away and are published in order when it is back", async () => {
    hub.stop();
    for (let n = 0; n < 20; n++) await app.outbox.publish("waiting", n, { key: `k${n % 3}` });
    hub.start();
    await vi.waitFor(() => expect(published("waiting")).toHaveLength(20), patient);
    for (const k of [0, 1, 2]) {
      const mine = (published("waiting") as number[]).filter((n) => n % 3 === k);
      expect(mine).toEqual(mine.toSorted((a, b) => a - b));
    }
  });

  it("A backlog of 10,000 messages is published completely and in the order of each key", {
    timeout: 60_000,
  }, async () => {
    const entries = Array.from({ length: 10_000 }, (_, n) => ({ value: n, key: `k${n % 50}` }));
    await app.database.transaction((tx) => tx.publishBatch("backlog", entries));
    await empty();
    const all = published("backlog") as number[];
    expect(new Set(all).size).toBe(10_000);
    const last = new Map<number, number>();
    for (const n of all) {
      expect(last.get(n % 50) ?? -1).toBeLessThan(n);
      last.set(n % 50, n);
    }
  });
});

describe("applications without an outbox", () => {
  it("tx.publish says what it needs", async () => {
    const app = new App();
    app.logger = quiet;
    app.enableDatabase(await empty());
    await app.start();
    await expect(app.database.transaction((tx) => tx.publish("x", 1))).rejects.toThrow(
      "publish() of a transaction needs app.enableOutbox()",
    );
    expect(() => app.outbox).toThrow("app.outbox needs app.enableOutbox()");
    await app.stop();
  });

  it("enableOutbox without a broker or without a database ends the start with the reason", async () => {
    await expect(new App().enableOutbox().start()).rejects.toThrow(/enableOutbox\(\) needs a broker/);
    await expect(new App().enableMemoryBroker().enableOutbox().start()).rejects.toThrow(
      /enableOutbox\(\) needs app.enableDatabase\(\)/,
    );
    expect(() => new App().enableOutbox({ leaseMs: 1 } as object)).toThrow(
      /unknown option 'leaseMs' in enableOutbox\(\)/,
    );
    expect(() => new App().enableOutbox({ schema: "A" })).toThrow(/schema/);
  });
});
