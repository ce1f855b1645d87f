import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App, hostOf } from "../../../src/app/app.js";
import { Depends } from "../../../src/di/depends.js";
import { TransactionScope } from "../../../src/engines/db/transaction/transaction.js";
import { MemoryBroker } from "../../../src/engines/messaging/memory/memory-broker.js";
import { MemoryHub } from "../../../src/engines/messaging/memory/memory-hub.js";
import type { Message } from "../../../src/engines/messaging/message.js";
import { messagingState } from "../../../src/engines/messaging/state.js";
import { field } from "../../../src/orm/fields/field.js";
import { Model } from "../../../src/orm/model/model.js";
import { PostgresInbox } from "../../../src/patterns/outbox/inbox.js";
import { outboxOptions } from "../../../src/patterns/outbox/options.js";
import { testMessages } from "../../../src/testing/test-messages.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet, recorder } from "../events/stores.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 10 };

class Payment extends Model("payments", { id: field.auto(), name: field.char({ maxLength: 50 }) }) {}

describe.each(engines(server))("the inbox in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  let app: App;
  const { logger, lines } = recorder();
  const hub = new MemoryHub();
  const runs: string[] = [];
  const retry = { attempts: 3, delay: 0.001 };

  class Accounts {
    constructor(readonly one: App) {}
    // A dependency that knows nothing of the message uses the same transaction, like models.
    add(name: string) {
      return this.one.database.current.execute("insert into accounts values ($1)", [name]);
    }
  }

  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = new App();
    app.logger = logger;
    messagingState(hostOf(app)).replacement = () => new MemoryBroker({ hub });
    app.enableDatabase({ url, poolSize: 5 }).enableMemoryBroker().enableOutbox({ poll: "50ms" });
    app.registerSingleton("accounts", new Accounts(app));
    app.onMessage(
      "pay",
      { inbox: true, retry, inject: { accounts: Depends<Accounts>("accounts") } },
      async (message, { accounts }) => {
        const { name, fails } = message.value as { name: string; fails?: number };
        runs.push(name);
        await message.tx.execute("insert into effects values ($1)", [name]);
        await accounts.add(name);
        await Payment.objects.create({ name });
        await message.tx.publish("paid", name, { key: name });
        if (fails !== undefined && message.attempt <= fails) throw new Error("the bank is closed");
      },
    );
    app.onMessage("chosen", { inbox: true, retry }, async (message) => {
      const how = message.value as "reject" | "nack" | "deadLetter";
      await message.tx.execute("insert into effects values ($1)", [how]);
      if (how !== "nack" || message.attempt === 1) message[how]();
    });
    app.onMessage("deferred", { inbox: true, retry: { attempts: 2, delay: 0.001 } }, async (message) => {
      await message.tx.execute("insert into children values (17)");
    });
    await app.start();
    await app.database.script(`
      create table effects (name text); create table accounts (name text);
      create table payments (id serial primary key, name varchar(50) not null);
      create table parents (id int primary key);
      create table children (parent int references parents deferrable initially deferred)`);
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });

  const count = (table: string, name: string) =>
    app.database.fetchval<number>(`select count(*)::int from ${table} where name = $1`, [name]);
  const results = (topic: string) => app.messaging.consumers.find((one) => one.topic === topic)!.stats().results;
  const paid = () => hub.records("paid").map(({ key }) => key);

  it("The effects of a handler, of its dependencies, of models and of its messages happen once for a message delivered twice", async () => {
    await app.publish("pay", { name: "ada" }, { id: "p1" });
    await app.publish("pay", { name: "ada" }, { id: "p1" });
    await vi.waitFor(() => expect(results("pay")).toMatchObject({ done: 1, duplicate: 1 }), patient);
    for (const table of ["effects", "accounts", "payments"]) expect(await count(table, "ada")).toBe(1);
    expect(runs).toEqual(["ada"]);
    await vi.waitFor(() => expect(paid().filter((key) => key === "ada")).toEqual(["ada"]), patient);
  });

  it("An attempt that fails leaves nothing, and the next one has the whole effect", async () => {
    await app.publish("pay", { name: "bob", fails: 2 });
    await vi.waitFor(() => expect(paid().filter((key) => key === "bob")).toEqual(["bob"]), patient);
    expect(runs.filter((name) => name === "bob")).toHaveLength(3);
    for (const table of ["effects", "accounts", "payments"]) expect(await count(table, "bob")).toBe(1);
  });

  it("A message that becomes a dead letter has no effect, and can be sent back", async () => {
    await app.publish("pay", { name: "eve", fails: 3 });
    await vi.waitFor(async () => expect(await app.deadLetters.list("pay")).toHaveLength(1), patient);
    for (const table of ["effects", "accounts", "payments"]) expect(await count(table, "eve")).toBe(0);
    await app.deadLetters.discard("pay");
  });

  it("A rejected message keeps its effect; a nack and a dead letter undo it", async () => {
    for (const how of ["reject", "nack", "deadLetter"]) await app.publish("chosen", how);
    await vi.waitFor(() => expect(results("chosen")).toMatchObject({ rejected: 1, done: 1, dead: 1 }), patient);
    expect(await count("effects", "reject")).toBe(1);
    expect(await count("effects", "nack")).toBe(1);
    expect(await count("effects", "deadLetter")).toBe(0);
  });

  it("A transaction that the database refuses to commit is a failed attempt, not an endless one", async () => {
    await app.publish("deferred", 1);
    await vi.waitFor(async () => expect(await app.deadLetters.list("deferred")).toHaveLength(1), patient);
    expect(await app.deadLetters.list("deferred")).toMatchObject([{ attempts: 2, reason: "failed" }]);
  });

  it("A commit that was applied but reported an error counts as handled, with one run of the handler", async () => {
    const { commit } = TransactionScope.prototype;
    TransactionScope.prototype.commit = async function () {
      await commit.call(this);
      TransactionScope.prototype.commit = commit;
      throw new Error("the connection was cut");
    };
    await app.publish("pay", { name: "cut" });
    await vi.waitFor(() => expect(paid()).toContain("cut"), patient);
    await vi.waitFor(() => expect(lines).toContain("a message was handled, though its transaction reported an error"));
    expect(runs.filter((name) => name === "cut")).toEqual(["cut"]);
    expect(await count("effects", "cut")).toBe(1);
    expect(await app.deadLetters.list("pay")).toEqual([]);
  });

  it("Ids beyond the number and the age that are kept are deleted, and none that was stored at the time of the last one kept", async () => {
    const few = new PostgresInbox(app.database, { ...outboxOptions.read([]), inboxCount: 3 }, quiet);
    await app.database.script(`
      delete from stoa.inbox;
      insert into stoa.inbox (consumer, message_id, handled_at)
      select 'old', n::text, now() - n / 2 * interval '1 minute' from generate_series(2, 2500) n`);
    const kept = async () => {
      const rows = await app.database.fetch<{ id: string }>("select message_id as id from stoa.inbox order by 1");
      return rows.map(({ id }) => id);
    };
    expect(await few.sweep()).toBe(2495);
    expect(await kept()).toEqual(["2", "3", "4", "5"]);
    await app.database.execute(
      "update stoa.inbox set handled_at = now() - interval '8 days' where message_id in ('2', '4')",
    );
    expect(await new PostgresInbox(app.database, outboxOptions.read([]), quiet).sweep()).toBe(2);
    expect(await kept()).toEqual(["3", "5"]);
  });

  it("An id that PostgreSQL cannot store as text is known again all the same, and others are not taken for it", async () => {
    const inbox = new PostgresInbox(app.database, outboxOptions.read([]), quiet);
    const run = vi.fn(async () => ({ kind: "done", value: undefined }) as const);
    for (const id of ["a\0b", "ab", "a\ud800b", "a\ufffdb"]) {
      const claim = { consumer: "odd", id, timeout: 1000 };
      expect(await inbox.handle(claim, run)).toEqual({ kind: "done", value: undefined });
      expect(await inbox.handle(claim, run)).toEqual({ kind: "duplicate" });
    }
    expect(run).toHaveBeenCalledTimes(4);
  });

  it("An id of any length is stored", async () => {
    const inbox = new PostgresInbox(app.database, outboxOptions.read([]), quiet);
    const claim = { consumer: "long", id: "x".repeat(10_000), timeout: 1000 };
    const run = vi.fn(async () => ({ kind: "done", value: undefined }) as const);
    expect(await inbox.handle(claim, run)).toEqual({ kind: "done", value: undefined });
    expect(await inbox.handle(claim, run)).toEqual({ kind: "duplicate" });
    expect(await inbox.handle({ ...claim, consumer: "other" }, run)).toEqual({ kind: "done", value: undefined });
    expect(run).toHaveBeenCalledTimes(2);
  });

  if (engine.name === "postgres") {
    it("An application deletes the ids that are older than its option says when it starts", async () => {
      await app.database.execute(
        `insert into stoa.inbox (consumer, message_id, handled_at)
         values ('aged', 'two hours', now() - interval '2 hours'), ('aged', 'half an hour', now() - interval '30 minutes')`,
      );
      const one = new App();
      one.logger = quiet;
      one.enableDatabase({ url, poolSize: 2 }).enableMemoryBroker().enableOutbox({ inbox: "1h" });
      one.onMessage("swept", { inbox: true }, () => {});
      await one.start();
      const kept = () => app.database.fetch("select message_id from stoa.inbox where consumer = 'aged'");
      await vi.waitFor(async () => expect(await kept()).toEqual([{ message_id: "half an hour" }]), patient);
      await one.stop();
    });

    it("A message that another process is handling is left for later, without waiting for it", async () => {
      const inbox = new PostgresInbox(app.database, outboxOptions.read([]), quiet);
      const claim = { consumer: "busy", id: "b1", timeout: 0 };
      const first = await new Promise<{ end: () => void; ended: Promise<unknown> }>((started) => {
        const ended: Promise<unknown> = inbox.handle(claim, () => {
          return new Promise((resolve) => started({ end: () => resolve({ kind: "done", value: undefined }), ended }));
        });
      });
      const second = vi.fn();
      expect(await inbox.handle(claim, second)).toEqual({ kind: "busy", delayMs: 1000 });
      first.end();
      await first.ended;
      expect(await inbox.handle(claim, second)).toEqual({ kind: "duplicate" });
      expect(second).not.toHaveBeenCalled();
    });

    it("The transaction of a handler that neither works nor ends is ended by the server some time after the handler's time", async () => {
      const inbox = new PostgresInbox(app.database, outboxOptions.read([]), quiet);
      const setting = await new Promise((resolve) => {
        void inbox.handle({ consumer: "limit", id: "l1", timeout: 2000 }, async (tx) => {
          resolve(await tx.fetchval("show idle_in_transaction_session_timeout"));
          return { kind: "done", value: undefined };
        });
      });
      expect(setting).toBe("12s");
    });
  }

  it("A handler under test runs in a transaction too", async () => {
    const one = new App();
    one.logger = quiet;
    one.enableDatabase({ url, poolSize: 2 }).enableMemoryBroker();
    let seen: Message | null = null;
    one.onMessage("tested", { inbox: true }, (message) => void (seen = message));
    const messages = testMessages(one);
    expect(await messages.deliver("tested", 1, { id: "t1" })).toMatchObject({ result: "done" });
    expect(seen!.tx?.kind).toBe("transaction");
    expect(await messages.deliver("tested", 1, { id: "t1" })).toMatchObject({ result: "duplicate" });
    await one.stop();
  });
});

describe("an inbox that cannot be", () => {
  it("The start fails without a database, and the option is refused beside 'idempotent' and 'broadcast'", async () => {
    const app = new App().enableMemoryBroker().onMessage("x", { inbox: true }, () => {});
    await expect(app.start()).rejects.toThrow("the option 'inbox' needs app.enableDatabase()");
    expect(() => new App().onMessage("x", { inbox: true, idempotent: true }, () => {})).toThrow(
      /both 'inbox' and 'idempotent'/,
    );
    expect(() => new App().onMessage("x", { inbox: true, broadcast: true }, () => {})).toThrow(
      /both 'inbox' and 'broadcast'/,
    );
  });
});
