import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { DatabaseOptions } from "../../../src/engines/db/config.js";
import type { Database, Queries } from "../../../src/engines/db/database.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { blockFor } from "../../support/block-for.js";
import { service } from "../../support/service.js";
import { makeDatabase, withServer } from "./engines.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";

describe.skipIf(server === "")("the pool", () => {
  let url: string;
  let drop: () => Promise<void>;
  const opened: Database[] = [];

  beforeAll(async () => {
    ({ url, drop } = await makeDatabase(server));
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
  });

  afterAll(async () => {
    await drop?.();
  });

  const open = async (options: Partial<DatabaseOptions> = {}): Promise<Database> => {
    const db = await openDatabase({ url, sslmode: "disable", ...options });
    opened.push(db);
    return db;
  };

  const pids = async (db: Database, count: number): Promise<Set<unknown>> =>
    new Set(await Promise.all(Array.from({ length: count }, () => db.fetchval("select pg_backend_pid()"))));

  it("The pool opens connections on demand, up to its size", async () => {
    const db = await open({ poolSize: 3 });
    expect(db.stats()).toEqual({ total: 1, idle: 1, inUse: 0, waiting: 0 });
    const sleeping = Array.from({ length: 3 }, () => db.fetch("select pg_sleep(0.3)"));
    await vi.waitFor(() => expect(db.stats().total).toBe(3));
    await Promise.all(sleeping);
    await pids(db, 200);
    expect(db.stats().total).toBe(3);
  });

  it("The pool sends several statements ahead on one connection", async () => {
    const proxy = await FaultProxy.start(url);
    const db = await openDatabase({ url: proxy.through(url), sslmode: "disable", poolSize: 1 });
    // A statement whose first run was slow, on a busy machine, would not be sent ahead.
    for (let run = 0; run < 30; run++) await db.fetchval("select $1::int", [0]);
    const held: Buffer[] = [];
    let sent = "";
    proxy.change = (chunk) => {
      held.push(chunk);
      return Buffer.alloc(0);
    };
    proxy.changeRequest = (chunk) => {
      sent += chunk.toString("latin1");
      return chunk;
    };
    const calls = Array.from({ length: 10 }, (_, n) => db.fetchval("select $1::int", [n]));
    const executeMessage = "E\0\0\0\x09";
    await vi.waitFor(() => expect(sent.split(executeMessage)).toHaveLength(11));
    proxy.change = null;
    proxy.inject(Buffer.concat(held));
    expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await db.close();
    await proxy.close();
  });

  it("Quick statements do not wait behind a slow one", async () => {
    const db = await open({ poolSize: 2 });
    let slowIsDone = false;
    const slow = db.fetch("select pg_sleep(1)").then(() => (slowIsDone = true));
    for (let i = 0; i < 50; i++) await db.fetchval("select 1");
    expect(slowIsDone).toBe(false);
    await slow;
  });

  it("A transaction gets a connection of its own", async () => {
    const db = await open({ poolSize: 2 });
    await db.transaction(async (tx) => {
      const own = await tx.fetchval("select pg_backend_pid()");
      expect(await pids(db, 20)).not.toContain(own);
      expect(await tx.fetchval("select pg_backend_pid()")).toBe(own);
    });
  });

  it("Transactions get their turn while single statements keep coming", async () => {
    const db = await open({ poolSize: 1 });
    let stop = false;
    const flood = Promise.all(
      Array.from({ length: 20 }, async () => {
        while (!stop) await db.fetchval("select 1");
      }),
    );
    for (let i = 0; i < 20; i++) expect(await db.transaction((tx) => tx.fetchval("select 2"))).toBe(2);
    stop = true;
    await flood;
  });

  it("A call is refused after acquireTimeout if all connections are in use, and later calls work", async () => {
    const db = await open({ poolSize: 1, acquireTimeout: 0.1 });
    await db.transaction(async () => {
      const errors = await Promise.all([
        db.fetch("select 1").catch((error: unknown) => error),
        db.transaction(() => 1).catch((error: unknown) => error),
      ]);
      for (const error of errors) {
        expect(error).toBeInstanceOf(OperationalError);
        expect((error as Error).message).toContain("no connection became free within 100 ms: all 1 are in use");
      }
    });
    expect(await db.fetchval("select 1")).toBe(1);
  });

  describe("An event loop that is blocked for longer than a limit", () => {
    it.each([
      ["statementTimeout", { statementTimeout: 1, preparedStatements: false }, {}],
      ["the timeout of a statement", {}, { timeout: 1 }],
    ])(
      "A response that arrived during the block counts, and so does one to a statement from just before, although %s is over",
      async (_limit, options, call) => {
        const db = await open({ poolSize: 2, ...options });
        const ask = (): Promise<unknown> => db.fetchval("select 7 from pg_sleep(0.3)", [], call);
        const underWay = ask();
        await vi.waitFor(async () => expect(await db.fetchval("select 1")).toBe(1));
        const notYetSent = ask();
        blockFor(2000);
        expect(await Promise.all([underWay, notYetSent])).toEqual([7, 7]);
      },
    );

    it("A caller gets the connection that was being opened, although acquireTimeout is over", async () => {
      const db = await open({ poolSize: 2, acquireTimeout: 1, connectTimeout: 1 });
      await db.transaction(async () => {
        const second = db.transaction((tx) => tx.fetchval("select 7"));
        blockFor(2000);
        expect(await second).toBe(7);
      });
    });
  });

  it("A script with a misspelt option is refused before it waits for a connection", async () => {
    const db = await open({ poolSize: 1, acquireTimeout: 60 });
    await db.transaction(async () => {
      const refused = db.script("select 1", { timout: 1 } as never);
      await expect(refused).rejects.toThrow("unknown option 'timout' in a statement; did you mean 'timeout'?");
    });
  });

  it("The pool gives connections in the order of the calls", async () => {
    const db = await open({ poolSize: 1 });
    const order: number[] = [];
    const othersWait = async (count: number): Promise<void> => {
      while (db.stats().waiting < count) await new Promise((resolve) => setImmediate(resolve));
    };
    await Promise.all(
      [1, 2, 3, 4].map((n) =>
        n % 2 === 0
          ? db.fetchval("select 1").then(() => order.push(n))
          : db.transaction(() => othersWait(4 - n)).then(() => order.push(n)),
      ),
    );
    expect(order).toEqual([1, 2, 3, 4]);
  });

  it("The pool never reuses a connection with an open transaction", async () => {
    const db = await open({ poolSize: 1 });
    await expect(
      db.session(async (session) => {
        await session.execute("begin");
        throw new Error("left open");
      }),
    ).rejects.toThrow("left open");
    expect(
      await db.fetchval(
        "select count(*) from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()",
      ),
    ).toBe(0);
    expect(await db.fetchval("select 1")).toBe(1);
  });

  it("Statements are prepared once per connection, up to a limit", async () => {
    const db = await open({ poolSize: 1 });
    const prepared = "select count(*) from pg_prepared_statements where name like 'stoa%'";
    for (let i = 0; i < 5; i++) await db.fetchval("select $1::int", [i]);
    expect(await db.fetchval(prepared, [], { prepare: false })).toBe(1);
    for (let i = 0; i < 300; i++) await db.fetchval(`select ${i}`);
    expect(Number(await db.fetchval(prepared, [], { prepare: false }))).toBeLessThanOrEqual(251);
  });

  it("A prepared statement that the session has lost is prepared again", async () => {
    const db = await open({ poolSize: 1 });
    // In a function nobody sees it from here.
    await db.execute(
      "create function forget() returns void language plpgsql as $$ begin execute 'deallocate all'; end $$",
    );
    await db.fetchval("select $1::int", [1]);
    await db.execute("select forget()", [], { prepare: false });
    expect(await Promise.all([2, 3].map((n) => db.fetchval("select $1::int", [n])))).toEqual([2, 3]);
  });

  it("A changed table fails one transaction of the pool, whatever the number of connections and statements", async () => {
    const db = await open({ poolSize: 4 });
    await db.execute("create table widened (n int)");
    const texts = ["select * from widened", "select * from widened where n = 1", "table widened"];
    const inTransaction = (retry?: number, meet = async () => {}) =>
      db.transaction(
        async (tx) => {
          for (const text of texts) await tx.fetch(text);
          await meet();
        },
        retry === undefined ? {} : { retry },
      );
    /** Each transaction has a connection of its own until all have run their statements. */
    const onAll = () => {
      let begun = 0;
      let end = () => {};
      const all = new Promise<void>((resolve) => (end = resolve));
      const meet = () => {
        if (++begun === 4) end();
        return all;
      };
      return Promise.all([1, 2, 3, 4].map(() => inTransaction(undefined, meet)));
    };
    await onAll();
    await db.script("alter table widened add column a int");
    await expect(inTransaction()).rejects.toMatchObject({ name: "OperationalError", sqlstate: "0A000" });
    await onAll();
    await db.script("alter table widened add column b int");
    await inTransaction(1);
    await onAll();
  });

  it("A statement of a session is repeated on the connection of that session", async () => {
    const db = await open({ poolSize: 2 });
    await Promise.all([db.fetch("select pg_sleep(0.1)"), db.fetch("select pg_sleep(0.1)")]);
    const seen = await db.session(async (session) => {
      await session.execute("set app.who = 'this session'");
      const who = () => session.fetchval("select current_setting('app.who')");
      await who();
      await session.execute("do $$ begin execute 'deallocate all'; end $$");
      return who();
    });
    expect(seen).toBe("this session");
  });

  it("A pool without prepared statements prepares none, and still limits the time of a statement", async () => {
    const db = await open({ poolSize: 1, preparedStatements: false, statementTimeout: 0.3 });
    expect(await db.fetchval("select $1::int + 1", [1])).toBe(2);
    expect(await db.fetchval("select count(*) from pg_prepared_statements")).toBe(0);
    await expect(db.fetch("select pg_sleep(30)")).rejects.toMatchObject({ sqlstate: "57014" });
    expect(await db.fetchval("select 1")).toBe(1);
  });

  it("A transaction or a session can have a longer time limit for statements than others", async () => {
    const db = await open({ poolSize: 1, statementTimeout: 0.1 });
    const slow = "select 'done' from pg_sleep(0.4)";
    await expect(db.fetchval(slow)).rejects.toMatchObject({ sqlstate: "57014" });
    expect(await db.transaction((tx) => tx.fetchval(slow), { statementTimeout: 0 })).toBe("done");
    expect(await db.session((session) => session.fetchval(slow), { statementTimeout: 5 })).toBe("done");
    await expect(db.fetchval(slow)).rejects.toMatchObject({ sqlstate: "57014" });
  });

  it("The pool closes idle connections, except the last one", async () => {
    const db = await open({ poolSize: 4, idleTimeout: 0.05 });
    const sleeping = Array.from({ length: 4 }, () => db.fetch("select pg_sleep(0.5)"));
    await vi.waitFor(() => expect(db.stats().total).toBe(4));
    await Promise.all(sleeping);
    await vi.waitFor(() => expect(db.stats().total).toBe(1), { timeout: 10_000 });
    expect(await db.fetchval("select 1")).toBe(1);
  });

  it("Connections are replaced after their lifetime, without breaking running work", async () => {
    const db = await open({ poolSize: 2, maxLifetime: 0.1 });
    const pid = (queries: Queries) => queries.fetchval<number>("select pg_backend_pid()");
    const first = await pid(db);
    await vi.waitFor(async () => expect(await pid(db)).not.toBe(first), { timeout: 10_000 });
    const others = async () => {
      const before = await pid(db);
      await vi.waitFor(async () => expect(await pid(db)).not.toBe(before), { timeout: 10_000 });
    };
    await db.session(async (session) => {
      const own = await pid(session);
      await others();
      expect(await pid(session)).toBe(own);
    });
    const slow = db.fetchval("select 'done' from pg_sleep(1.2)");
    await others();
    expect(await slow).toBe("done");
  });

  it("A lifetime of 0 keeps connections forever", async () => {
    const db = await open({ poolSize: 1, maxLifetime: 0, idleTimeout: 0.001 });
    const first = await pids(db, 1);
    const reference = await open({ poolSize: 1, maxLifetime: 0.001 });
    const replaced = await pids(reference, 1);
    await vi.waitFor(async () => expect(await pids(reference, 1)).not.toEqual(replaced), { timeout: 10_000 });
    expect(await pids(db, 1)).toEqual(first);
  });

  it("A connection to a read-only server is closed after a refused write, and the next one writes", async () => {
    const name = new URL(url).pathname.slice(1);
    const writable = await open({ poolSize: 1 });
    await writable.execute("create table changes (n int)");
    await withServer(server, `alter database ${name} set default_transaction_read_only = on`);
    const db = await open({ poolSize: 1 });
    const [pid] = await pids(db, 1);
    await withServer(server, `alter database ${name} set default_transaction_read_only = off`);
    const change = "insert into changes values (1)";
    const refused = await db.execute(change).catch((reason: unknown) => reason);
    expect(refused).toBeInstanceOf(OperationalError);
    expect(refused).toMatchObject({ sqlstate: "25006" });
    expect(await db.execute(change)).toEqual({ command: "INSERT", rowCount: 1 });
    expect([...(await pids(db, 1))]).not.toContain(pid);
  });

  it("A connection to a read-only server is closed after a failed transaction, unless that was to be read only", async () => {
    const name = new URL(url).pathname.slice(1);
    await withServer(server, `alter database ${name} set default_transaction_read_only = on`);
    const db = await open({ poolSize: 1 });
    const [pid] = await pids(db, 1);
    await withServer(server, `alter database ${name} set default_transaction_read_only = off`);
    const change = (tx: Queries) => tx.execute("create table never (n int)");
    await expect(db.transaction(change, { readOnly: true })).rejects.toMatchObject({ sqlstate: "25006" });
    await expect(db.transaction((tx) => tx.transaction(change), { readOnly: true })).rejects.toMatchObject({
      sqlstate: "25006",
    });
    expect([...(await pids(db, 1))]).toEqual([pid]);
    await expect(db.transaction(change)).rejects.toMatchObject({ sqlstate: "25006" });
    expect([...(await pids(db, 1))]).not.toContain(pid);
  });

  it("Statements under way finish when the pool is closed", async () => {
    const db = await open({ poolSize: 2 });
    const single = db.fetchval("select 'done' from pg_sleep(0.3)");
    const transaction = db.transaction((tx) => tx.fetchval("select 'done' from pg_sleep(0.3)"));
    await vi.waitFor(() => expect(db.stats().inUse).toBe(2));
    await db.close();
    expect(await Promise.all([single, transaction])).toEqual(["done", "done"]);
  });

  it("Concurrent serializable transactions are retried until all are done", async () => {
    const db = await open({ poolSize: 4 });
    await db.script("create table counter (n int); insert into counter values (0)");
    const add = (): Promise<unknown> =>
      db.transaction(
        async (tx) => {
          const n = await tx.fetchval<number>("select n from counter");
          await tx.execute("update counter set n = $1", [n! + 1]);
        },
        { isolation: "serializable", retry: 50 },
      );
    await Promise.all(Array.from({ length: 8 }, add));
    expect(await db.fetchval("select n from counter")).toBe(8);
  });

  it("A listener continues after its connection was cut", async () => {
    const proxy = await FaultProxy.start(url);
    const db = await openDatabase({ url: proxy.through(url), sslmode: "disable", poolSize: 1 });
    const seen: string[] = [];
    await db.listen("news", (payload) => seen.push(payload));
    proxy.cut();
    await vi.waitFor(
      async () => {
        await db.execute("select pg_notify('news', 'after')");
        expect(seen).toContain("after");
      },
      { timeout: 10_000 },
    );
    await db.close();
    await proxy.close();
  });

  it("A notification handler that throws is reported, and the others continue", async () => {
    const errors: string[] = [];
    const logger = { error: (message: string) => errors.push(message), warn() {}, info() {}, debug() {} };
    const db = await openDatabase({ url, sslmode: "disable" }, { logger: logger as never });
    opened.push(db);
    const seen: string[] = [];
    await db.listen("news", () => {
      throw new Error("mine");
    });
    await db.listen("news", (payload) => seen.push(payload));
    await db.execute("select pg_notify('news', 'x')");
    await vi.waitFor(() => expect(seen).toEqual(["x"]));
    expect(errors).toEqual(["a handler of a database notification failed"]);
  });

  it("Dates are read correctly on a server with another date style", async () => {
    const owner = await open();
    await owner.execute(`alter database ${new URL(url).pathname.slice(1)} set datestyle = 'German'`);
    const db = await open();
    expect(await db.fetchval("select timestamptz '2024-05-06 07:08:09Z'")).toEqual(new Date("2024-05-06T07:08:09Z"));
    await owner.execute(`alter database ${new URL(url).pathname.slice(1)} reset datestyle`);
  });

  it("Parameters are safe on a server without standard strings, and bytes in the old format are read", async () => {
    const db = await open();
    await db.session(async (session) => {
      await session.execute("set standard_conforming_strings = off");
      await session.execute("set bytea_output = 'escape'");
      const evil = "\\'; drop table counter; --";
      expect(await session.sql`select ${evil}::text`.val()).toBe(evil);
      expect(await session.fetchval("select $1::bytea", [Buffer.from([0, 92, 200, 65])])).toEqual(
        Buffer.from([0, 92, 200, 65]),
      );
    });
  });
});
