import { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { DatabaseOptions } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { deferred } from "../../../src/kit/deferred.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { letsTimersRun } from "../../support/without-pause.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";

describe.skipIf(server === "")("a database that fails", () => {
  let proxy: FaultProxy;
  let db: Database;
  const opened: Database[] = [];

  beforeEach(async () => {
    proxy = await FaultProxy.start(server);
  });

  afterEach(async () => {
    proxy.blackHole = false;
    await proxy.close();
    await Promise.all(opened.splice(0).map((database) => database.close()));
  });

  const open = async (options: Partial<DatabaseOptions> = {}): Promise<Database> => {
    db = await openDatabase({ url: proxy.through(server), sslmode: "disable", poolSize: 2, ...options });
    opened.push(db);
    return db;
  };

  const failure = async (promise: PromiseLike<unknown>): Promise<OperationalError> => {
    const error = await promise.then(
      () => new Error("it did not fail"),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(OperationalError);
    return error as OperationalError;
  };

  const recovers = (): Promise<void> =>
    vi.waitFor(async () => expect(await db.fetchval("select 1")).toBe(1), { timeout: 10_000, interval: 50 });

  /** Attempts to connect from now on: a second one shows that the first has failed. */
  const countAttempts = (): (() => number) => {
    const connecting = vi.spyOn(Socket.prototype, "connect");
    onTestFinished(() => connecting.mockRestore());
    return () => connecting.mock.calls.length;
  };

  describe("faults at the start", () => {
    it("A server that refuses connections is retried, then named in the error, without the password", async () => {
      await proxy.close();
      const url = proxy.through(server).replace("app@", "app:hunter2@");
      const error = await failure(openDatabase({ url, connectTimeout: 0.5 }));
      expect(error.message).toMatch(/^cannot connect to PostgreSQL at 127\.0\.0\.1:\d+\/postgres: .*ECONNREFUSED/);
      expect(error.message + error.stack).not.toContain("hunter2");
      expect(error.sqlstate).toBe("08001");
    });

    it("A server that starts a little later is used", async () => {
      await proxy.close();
      const attempts = countAttempts();
      const opening = open();
      await vi.waitFor(() => expect(attempts()).toBeGreaterThan(1), 10_000);
      await proxy.open();
      await opening;
      expect(await db.fetchval("select 1")).toBe(1);
    });

    it("A server that never responds fails the start after connectTimeout", async () => {
      proxy.blackHole = true;
      expect((await failure(open({ connectTimeout: 0.3 }))).message).toContain("no answer in time");
    });

    it("A server that speaks another protocol fails the start", async () => {
      proxy.change = () => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n");
      await failure(open({ connectTimeout: 0.3 }));
    });

    it("An unknown database or role fails the start at once", async () => {
      const nowhere = new URL(proxy.through(server));
      nowhere.pathname = "/nowhere";
      const error = await failure(openDatabase({ url: nowhere.href, connectTimeout: 60 }));
      expect(error).toMatchObject({ sqlstate: "3D000" });
      expect(error.message).toContain('database "nowhere" does not exist; create it with createdb');
    });
  });

  describe("faults during use", () => {
    it("The pool connects again after every connection was cut", async () => {
      await open();
      await db.ping();
      proxy.cut();
      await recovers();
    });

    it("A cut connection fails the statements that were under way, and no others", async () => {
      await open();
      const slow = db.fetch("select pg_sleep(20)");
      await vi.waitFor(() => expect(db.stats().inUse).toBe(1));
      proxy.cut();
      const error = await failure(slow);
      expect(error.sqlstate).toBe("08006");
      expect(error.message).toContain("the connection to the database was lost");
      await recovers();
    });

    it("A transaction whose connection is cut fails and leaves no rows behind", async () => {
      await open();
      await db.script("create table if not exists fault_log (a int); truncate fault_log");
      await failure(
        db.transaction(async (tx) => {
          await tx.execute("insert into fault_log values (1)");
          proxy.cut();
          await tx.execute("insert into fault_log values (2)");
        }),
      );
      await recovers();
      expect(await db.fetchval("select count(*) from fault_log")).toBe(0);
      expect(db.stats().inUse).toBe(0);
    });

    it("Calls wait for the server during a short outage", async () => {
      await open();
      await proxy.close();
      const attempts = countAttempts();
      const waiting = db.fetchval("select 1").catch((error: unknown) => error);
      await vi.waitFor(() => expect(attempts()).toBeGreaterThan(1), 10_000);
      const later = db.fetchval("select 2");
      await proxy.open();
      expect(await later).toBe(2);
      await waiting;
    });

    it("Calls fail quickly during a long outage, and work again afterwards", async () => {
      await open({ acquireTimeout: 0.3 });
      await proxy.close();
      await vi.waitFor(() => expect(db.stats().total).toBe(0));
      expect((await failure(db.fetch("select 1"))).message).toContain("ECONNREFUSED");
      await vi.waitFor(async () => {
        const call = failure(db.fetch("select 1"));
        const { waiting } = db.stats();
        await call;
        expect(waiting).toBe(0);
      }, 10_000);
      const failures = Promise.all(Array.from({ length: 100 }, () => failure(db.fetch("select 1"))));
      expect(db.stats().waiting).toBe(0);
      await failures;
      expect(await letsTimersRun(() => db.fetch("select 1"))).toBe(true);
      expect(await letsTimersRun(() => db.transaction(async () => {}))).toBe(true);
      await proxy.open();
      await recovers();
    });

    // It takes as long as a busy server may take.
    it.runIf(isLong)(
      "A server that drops all packets fails its statements long before their limit, and is used again afterwards",
      async () => {
        await open({ statementTimeout: 600 });
        await db.ping();
        proxy.blackHole = true;
        const error = await failure(db.fetchval("select 1"));
        expect(error.message).toContain("no longer responds");
        proxy.blackHole = false;
        await recovers();
      },
    );

    it("A server that is only slow keeps its connections", async () => {
      await open({ statementTimeout: 0 });
      expect(await db.fetchval("select 'done' from pg_sleep(4)")).toBe("done");
    });

    it("A statement over a slow network, where a second connection takes seconds, is not taken for lost", async () => {
      proxy.delay = 700;
      await open({ statementTimeout: 0, poolSize: 1 });
      expect(await db.fetchval("select 'done' from pg_sleep(6)")).toBe("done");
    }, 60_000);

    it("A statement over a network that has become slow since it was opened is not taken for lost", async () => {
      await open({ statementTimeout: 0, poolSize: 1 });
      await db.ping();
      proxy.delay = 4500;
      expect(await db.fetchval("select 'done' from pg_sleep(4)")).toBe("done");
    }, 60_000);

    it("Transactions wait for the connections that work while the server gives no more", async () => {
      await open({ acquireTimeout: 0.5, poolSize: 5 });
      const role = `limited_${process.pid}`;
      await db.execute(`create role ${role} login password 'x' connection limit 2`);
      const limited = await openDatabase({ url: server, user: role, password: "x", acquireTimeout: 0.5, poolSize: 5 });
      try {
        const hold = deferred<void>();
        const held = [1, 2].map(() => limited.transaction(() => hold.promise));
        await vi.waitFor(() => expect(limited.stats().inUse).toBe(2), 10_000);
        // Longer than an outage may last before calls fail at once.
        expect((await failure(limited.transaction(async () => {}))).message).toMatch(
          /all 2 are in use, and no more can be opened \(.*too many connections for role/,
        );
        const waiting = limited.transaction((tx) => tx.fetchval("select 1"));
        expect(limited.stats().waiting).toBe(1);
        hold.resolve();
        expect(await waiting).toBe(1);
        await Promise.all(held);
      } finally {
        await limited.close();
        await db.execute(`drop role ${role}`);
      }
    }, 20_000);

    it("A lost response of one session is noticed through another connection", async () => {
      await open({ statementTimeout: 600 });
      await db.ping();
      let swallowed = 0;
      proxy.change = (chunk) => {
        swallowed += chunk.length;
        return Buffer.alloc(0);
      };
      const lost = failure(db.fetchval("select 1"));
      await vi.waitFor(() => expect(swallowed).toBeGreaterThan(0), 10_000);
      proxy.change = null;
      expect((await lost).message).toContain("no longer responds");
      await recovers();
    });

    it("A statement ends at its time limit, and its connection is kept", async () => {
      await open({ statementTimeout: 0.2, poolSize: 1 });
      const before = await db.fetchval("select pg_backend_pid()");
      expect(await failure(db.fetch("select pg_sleep(10)"))).toMatchObject({ sqlstate: "57014" });
      expect(await db.fetchval("select pg_backend_pid()")).toBe(before);
    });

    it("Calls wait for a server that responds late", async () => {
      await open();
      proxy.delay = 150;
      expect(await Promise.all([1, 2, 3].map((n) => db.fetchval("select $1::int", [n])))).toEqual([1, 2, 3]);
    });

    it("A server that sends invalid bytes without a request loses its connection", async () => {
      await open();
      await db.ping();
      proxy.inject(Buffer.from("rubbish that is no message at all"));
      await recovers();
    });

    it("A server that is shut down fails the running statements", async () => {
      await open();
      const victim = failure(
        db.transaction(async (tx) => {
          const pid = await tx.fetchval("select pg_backend_pid()");
          await db.fetch("select pg_terminate_backend($1)", [pid]);
          await tx.fetch("select pg_sleep(20)");
        }),
      );
      expect(["57P01", "08006"]).toContain((await victim).sqlstate);
      await recovers();
    });
  });

  describe("corrupted responses", () => {
    /** Changes one byte of the answer, the same in each run. */
    const flip = (at: number, to: number) => (chunk: Buffer) => {
      const changed = Buffer.from(chunk);
      if (changed.length > 0) changed[at % changed.length] = to;
      return changed;
    };

    it("Corrupted responses end at most the connection, never the process", async () => {
      await open({ poolSize: 1 });
      for (let seed = 0; seed < 60; seed++) {
        await recovers();
        proxy.change = flip(seed * 7, [0, 255, 0x44, 0x5a, 0x80][seed % 5]!);
        await db
          .fetch("select x, 'text' as t, now() as n from generate_series(1, 3) x where x <> $1", [99], { timeout: 0.1 })
          .catch(() => {});
        proxy.change = null;
        proxy.cut();
      }
      await recovers();
    });

    it("Corrupted responses never give one call the result of another", async () => {
      await open({ poolSize: 1 });
      await db.fetchval("select $1::int", [0]);
      // Cuts the first answer in half and continues with the second, as if bytes had been lost.
      let first = true;
      proxy.change = (chunk) => {
        const changed = first ? chunk.subarray(0, chunk.length - 9) : chunk;
        first = false;
        return changed;
      };
      const answers = await Promise.allSettled(
        [1, 2, 3].map((n) => db.fetchval("select $1::int", [n], { timeout: 1 })),
      );
      for (const [index, answer] of answers.entries()) {
        if (answer.status === "fulfilled") expect(answer.value).toBe(index + 1);
      }
      proxy.change = null;
      proxy.cut();
      await recovers();
    });
  });

  describe("cancelling", () => {
    const sleeping = (): Promise<unknown> =>
      db.fetchval("select count(*) from pg_stat_activity where query like 'select pg_sleep(33)%' and state = 'active'");

    it("Cancelling stops the statement on the server, and the call at once", async () => {
      await open();
      const controller = new AbortController();
      const call = failure(db.fetch("select pg_sleep(33)", [], { signal: controller.signal }));
      await vi.waitFor(async () => expect(await sleeping()).toBe(1));
      controller.abort(new Error("left"));
      const error = await call;
      expect(error).toMatchObject({ sqlstate: "57014", cause: { message: "left" } });
      await vi.waitFor(async () => expect(await sleeping()).toBe(0), { timeout: 5000 });
    });

    it("A statement whose caller left while another was being cancelled is cancelled too", async () => {
      await open({ poolSize: 1, acquireTimeout: 30 });
      let requests = 0;
      // The first cancel request gets nowhere, as on a busy server. Meanwhile its statement ends.
      proxy.changeRequest = (chunk) =>
        chunk.length === 16 && chunk.readInt32BE(4) === 80_877_102 && ++requests === 1 ? Buffer.alloc(0) : chunk;
      const [first, second] = [new AbortController(), new AbortController()];
      const calls = [
        db.fetch("select pg_sleep(0.3)", [], { signal: first.signal }),
        db.fetch("select pg_sleep(60)", [], { signal: second.signal }),
      ].map((call) => call.catch((error: Error) => error.message));
      await vi.waitFor(() => expect(db.stats().inUse).toBe(1));
      first.abort();
      await vi.waitFor(() => expect(requests).toBe(1), 10_000);
      second.abort();
      expect(await Promise.all(calls)).toHaveLength(2);
      expect(await db.fetchval("select 1", [], { timeout: 20 })).toBe(1);
      expect(requests).toBeGreaterThan(1);
    });

    it("A slow statement whose caller leaves at once is neither sent nor cancelled", async () => {
      await open({ poolSize: 1 });
      const text = "select 'slow' from pg_sleep(0.3)";
      // Compared with the quickest, it is known to be slow by then.
      for (let n = 0; n < 5; n++) await db.fetchval("select 1");
      for (let n = 0; n < 3; n++) await db.fetchval(text);
      let sent = 0;
      proxy.changeRequest = (chunk) => {
        sent++;
        return chunk;
      };
      const leaving = new AbortController();
      const calls = [1, 2, 3].map(() => db.fetchval(text, [], { signal: leaving.signal }));
      setImmediate(() => leaving.abort());
      const outcomes = await Promise.allSettled(calls);
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      expect([sent, db.stats().inUse]).toEqual([0, 0]);
      expect(await db.fetchval(text, [], { signal: new AbortController().signal })).toBe("slow");
    });

    it("A time limit of a call cancels its statement", async () => {
      await open();
      expect((await failure(db.fetch("select pg_sleep(33)", [], { timeout: 0.05 }))).message).toContain("its 50 ms");
      await vi.waitFor(async () => expect(await sleeping()).toBe(0), { timeout: 5000 });
    });

    it("Cancelling does not affect other statements on the same connection", async () => {
      await open({ poolSize: 1 });
      for (let i = 0; i < 20; i++) {
        const controller = new AbortController();
        const cancelled = db.fetch("select pg_sleep(0.005)", [], { signal: controller.signal }).catch(() => {});
        const others = Promise.all([1, 2, 3].map((n) => db.fetchval("select $1::int", [n])));
        setTimeout(() => controller.abort(), i % 7);
        await cancelled;
        expect(await others).toEqual([1, 2, 3]);
      }
    });

    it("A cancel request that signals twice, as PostgreSQL does, does not affect the next statement", async () => {
      await open({ poolSize: 1 });
      const slow = "select pg_sleep(61)";
      const waiting = "select 'the next' from pg_advisory_xact_lock(1761)";
      const other = await openDatabase({ url: server, sslmode: "disable", poolSize: 1 });
      opened.push(other);
      await other.session(async (session) => {
        const runs = async (text: string, seen = "pid"): Promise<void> => {
          const find = `select ${seen} from pg_stat_activity where state = 'active' and query = $1`;
          await vi.waitFor(async () => expect(await session.fetch(find, [text])).toHaveLength(1), 10_000);
        };
        await session.execute("select pg_advisory_lock(1761)");
        const controller = new AbortController();
        const cancelled = failure(db.fetch(slow, [], { signal: controller.signal }));
        const next = db.fetchval(waiting);
        await runs(slow);
        controller.abort();
        await cancelled;
        await runs(waiting, "pg_cancel_backend(pid)");
        await runs(waiting);
        await session.execute("select pg_advisory_unlock(1761)");
        expect(await next).toBe("the next");
      });
    });

    it("Cancelling removes a call that waits for a connection before it is sent", async () => {
      await open({ poolSize: 1 });
      await db.transaction(async () => {
        const controller = new AbortController();
        const waiting = failure(db.fetch("select 1", [], { signal: controller.signal }));
        expect(db.stats().waiting).toBe(1);
        controller.abort();
        await waiting;
        expect(db.stats().waiting).toBe(0);
      });
    });
  });
});
