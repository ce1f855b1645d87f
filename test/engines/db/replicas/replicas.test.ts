import { App } from "stoa";
import { field, Model } from "stoa/orm";
import { serve } from "stoa/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { DatabaseOptions } from "../../../../src/engines/db/config.js";
import type { Database } from "../../../../src/engines/db/database.js";
import { openDatabase } from "../../../../src/engines/db/open-database.js";
import { createTables } from "../../../../src/entry/orm.js";
import type { Logger } from "../../../../src/kit/logger.js";
import type { EitherSpelling } from "../../../../src/kit/names.js";
import { service } from "../../../support/service.js";
import { readOwnWrites } from "../documented.js";
import { makeDatabase } from "../engines.js";
import { FaultProxy } from "../fault-proxy.js";

const server = service("postgres") ?? "";
const standby = service("replica") ?? "";
const patient = { timeout: 20_000, interval: 50 };

class Note extends Model("replica_notes", {
  id: field.auto(),
  text: field.text(),
  get replies() {
    return field.reverse(() => Reply, "note");
  },
}) {}
class Reply extends Model("replica_replies", { id: field.auto(), note: field.foreignKey(() => Note) }) {}

describe.skipIf(server === "" || standby === "")("replicas of a database", { timeout: 60_000 }, () => {
  let url: string;
  let replicaUrl: string;
  let drop: () => Promise<void>;
  /** The standby itself: to hold back what it replays, and to break it. */
  let follower: Database;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    ({ url, drop } = await makeDatabase(server));
    replicaUrl = Object.assign(new URL(standby), { pathname: new URL(url).pathname }).href;
    follower = await openDatabase(standby);
    const db = await openDatabase(url);
    await createTables(db, [Note, Reply]);
    await db.execute("create table counted (n int)");
    await db.script(
      "create function count_up() returns bigint language plpgsql volatile as " +
        "$$ begin insert into counted values (1); return (select count(*) from counted); end $$",
    );
    await caughtUp(db);
    await db.close();
  });

  afterEach(async () => {
    await follower.execute("select pg_wal_replay_resume()").catch(() => {});
    for (const close of closing.splice(0).reverse()) await close();
  });

  afterAll(async () => {
    await follower?.close();
    await drop?.();
  });

  /** Waits until the standby has all changes. */
  const caughtUp = async (db: Database): Promise<void> => {
    const position = await db.writePosition();
    const reached = (): Promise<unknown> =>
      follower.fetchval("select pg_last_wal_replay_lsn() >= $1::pg_lsn", [position]);
    await vi.waitFor(async () => expect(await reached()).toBe(true), patient);
  };

  const warnings: string[] = [];
  const nothing = (): void => {};
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    warn: (message, fields) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: nothing,
    child: () => logger,
  };

  const started = async (options: Partial<EitherSpelling<DatabaseOptions>>, prepare: (app: App) => void) => {
    const app = new App();
    app.logger = logger;
    app.enableDatabase({ url, sslmode: "disable", replicas: [replicaUrl], ...options });
    app.enableHealthChecks();
    prepare(app);
    const listening = await serve(app, { debug: true });
    closing.push(() => listening.close());
    const get = async (path: string): Promise<string> => (await fetch(listening.url + path)).text();
    return { app, get };
  };

  const where = "select pg_is_in_recovery()";

  it("Reads of a request go to a replica until the request writes", async () => {
    const { get } = await started({}, (app) => {
      app.get("/", async ({ db }) => {
        const seen: unknown[] = [await db.fetchval(where), await db.fetchval(where)];
        await db.execute("insert into replica_notes (text) values ('a')");
        return [...seen, await db.fetchval(where)];
      });
    });
    expect(await get("/")).toBe("[true,true,false]");
    expect(await get("/")).toBe("[true,true,false]");
  });

  it("Reads in transactions, in sessions, after them and outside of requests go to the primary", async () => {
    const { app, get } = await started({}, (app) => {
      app.get("/transaction", async ({ db }) => [
        await db.transaction((tx) => tx.fetchval(where)),
        await db.fetchval(where),
      ]);
      app.get("/beside", ({ db }) => db.transaction(() => db.fetchval(where), { readOnly: true }).then((on) => [on]));
      app.get("/session", async ({ db }) => [await db.session((one) => one.fetchval(where)), await db.fetchval(where)]);
      app.get("/read-only", async ({ db }) => [
        await db.transaction((tx) => tx.fetchval(where), { readOnly: true }),
        await db.fetchval(where),
      ]);
    });
    expect(await get("/transaction")).toBe("[false,false]");
    expect(await get("/beside")).toBe("[false]");
    expect(await get("/session")).toBe("[false,false]");
    expect(await get("/read-only")).toBe("[false,true]");
    expect(await app.database.fetchval(where)).toBe(false);
    expect(await app.database.replica.fetchval(where)).toBe(true);
    expect(await app.database.replica.primary.fetchval(where)).toBe(false);
  });

  it("A request sees its own writes while the replica is behind, and later requests see them through the primary", async () => {
    let position = "";
    const { app, get } = await started({}, (app) => {
      app.get("/write", async ({ db }) => {
        const note = await Note.objects.create({ text: "mine" });
        position = await db.writePosition();
        return [await Note.objects.filter({ id: note.id }).count()];
      });
      const count = (notes = Note.objects.filter({ text: "mine" })): Promise<number> => notes.count();
      app.get("/later", async () => [await count()]);
      app.get("/primary", async () => [await count(Note.objects.filter({ text: "mine" }).primary())]);
      app.get("/using", async () => [await count(Note.objects.filter({ text: "mine" }).using("primary"))]);
      app.get("/view", async ({ db }) => [
        await db.primary.fetchval("select count(*) from replica_notes where text = 'mine'"),
      ]);
      app.get("/after", async ({ db }) => {
        db.readAfter(position);
        return [await count()];
      });
      app.get("/nonsense", async ({ db }) => {
        db.readAfter("x".repeat(100));
        return [await count()];
      });
      app.get("/nothing", async ({ db }) => {
        db.readAfter(undefined);
        return [await count()];
      });
      app.get("/replica", async () => {
        await Note.objects.create({ text: "other" });
        return [await count(Note.objects.filter({ text: "mine" }).using("replica"))];
      });
    });
    await follower.execute("select pg_wal_replay_pause()");
    expect(await get("/write")).toBe("[1]");
    for (const path of ["/later", "/nothing", "/replica"]) expect(await get(path)).toBe("[0]");
    for (const path of ["/primary", "/using", "/view", "/after", "/nonsense"]) expect(await get(path)).toBe("[1]");
    await follower.execute("select pg_wal_replay_resume()");
    await vi.waitFor(async () => expect(await get("/later")).toBe("[1]"), patient);
    await caughtUp(app.database);
    await vi.waitFor(async () => expect(await get("/after")).toBe("[1]"), patient);
  });

  it("A prefetched relation is read where its query is read", async () => {
    const { app, get } = await started({}, (app) => {
      const repliesOf = async (notes: typeof Note.objects): Promise<number[]> =>
        (await notes.filter({ text: "asked" }).prefetchRelated("replies")).map(({ replies }) => replies.length);
      app.get("/any", () => repliesOf(Note.objects));
      app.get("/primary", () => repliesOf(Note.objects.primary()));
    });
    const note = await Note.objects.create({ text: "asked" });
    await caughtUp(app.database);
    await follower.execute("select pg_wal_replay_pause()");
    await Reply.objects.create({ note });
    expect([await get("/any"), await get("/primary")]).toEqual(["[0]", "[1]"]);
  });

  it("The documented cookie lets a client read its own writes in later requests", async () => {
    const { get } = await started({}, (app) => {
      readOwnWrites(app);
      app.post("/notes", async () => ({ id: (await Note.objects.create({ text: "cookie" })).id }));
      app.get("/notes", async () => [await Note.objects.filter({ text: "cookie" }).count()]);
      app.get("/base", (request) => request.url.slice(0, -"/base".length));
    });
    const base = await get("/base");
    await follower.execute("select pg_wal_replay_pause()");
    const written = await fetch(`${base}/notes`, { method: "POST" });
    const [cookie = ""] = written.headers.getSetCookie().map((line) => line.split(";")[0]!);
    expect(decodeURIComponent(cookie)).toMatch(/^seen=[0-9A-F]+\/[0-9A-F]+$/);
    expect(await (await fetch(`${base}/notes`, { headers: { cookie } })).text()).toBe("[1]");
    expect(await get("/notes")).toBe("[0]");
  });

  it("A replica that is further behind than maxReplicaLag gets no reads until it has caught up", async () => {
    const { app, get } = await started({ max_replica_lag: 0.3 }, (app) => {
      app.get("/", async ({ db }) => [await db.fetchval(where)]);
    });
    expect(await get("/")).toBe("[true]");
    await follower.execute("select pg_wal_replay_pause()");
    await app.database.execute("insert into replica_notes (text) values ('late')");
    await vi.waitFor(async () => expect(await get("/")).toBe("[false]"), patient);
    expect(app.database.stats().replicas).toMatchObject([{ usable: false }]);
    expect(await get("/health/ready")).toContain('"database replicas":{"status":"DEGRADED"');
    await follower.execute("select pg_wal_replay_resume()");
    await vi.waitFor(async () => expect(await get("/")).toBe("[true]"), patient);
  });

  it("Replicas get no reads while maxReplicaLag cannot be checked, because the primary hangs", async () => {
    const proxy = await FaultProxy.start(url);
    closing.push(() => proxy.close());
    const options = { url: proxy.through(url), maxReplicaLag: 0.3, statementTimeout: 0.5 };
    const { app, get } = await started(options, (app) => {
      app.get("/", async ({ db }) => [await db.fetchval(where).catch((error: Error) => error.name)]);
    });
    const usable = (): unknown => app.database.stats().replicas?.[0]?.usable;
    expect(await get("/")).toBe("[true]");
    proxy.blackHole = true;
    await vi.waitFor(() => expect(usable()).toBe(false), patient);
    expect(await get("/")).toBe('["OperationalError"]');
    // Connections that lost bytes are of no use any more.
    proxy.blackHole = false;
    proxy.cut();
    await vi.waitFor(async () => expect(await get("/")).toBe("[true]"), patient);
  });

  it("Replicas without a limit of their lag are checked and used while the primary hangs", async () => {
    const primary = await FaultProxy.start(url);
    const replica = await FaultProxy.start(replicaUrl);
    closing.push(
      () => primary.close(),
      () => replica.close(),
    );
    const options = { url: primary.through(url), replicas: [replica.through(replicaUrl)] };
    const { app, get } = await started(options, (app) => {
      app.get("/", async ({ db }) => [await db.fetchval(where)]);
    });
    const usable = (): unknown => app.database.stats().replicas?.[0]?.usable;
    primary.blackHole = true;
    await replica.close();
    await vi.waitFor(() => expect(usable()).toBe(false), patient);
    await replica.open();
    await vi.waitFor(() => expect(usable()).toBe(true), patient);
    expect(await get("/")).toBe("[true]");
    primary.blackHole = false;
    primary.cut();
  });

  it("A replica that hangs is taken out without waiting for the statementTimeout", async () => {
    const replica = await FaultProxy.start(replicaUrl);
    closing.push(() => replica.close());
    const { app } = await started({ replicas: [replica.through(replicaUrl)], statementTimeout: "1h" }, () => {});
    const usable = (): unknown => app.database.stats().replicas?.[0]?.usable;
    await vi.waitFor(() => expect(usable()).toBe(true), patient);
    replica.blackHole = true;
    await vi.waitFor(() => expect(usable()).toBe(false), patient);
    replica.blackHole = false;
    replica.cut();
  });

  it("A read that writes after all runs once, on the primary, and goes there at once from then on", async () => {
    const { app, get } = await started({}, (app) => {
      app.get("/count", async ({ db }) => [await db.fetchval("select count_up()"), await db.fetchval(where)]);
    });
    const before = Number(await app.database.fetchval("select count(*) from counted"));
    expect(await get("/count")).toBe(`[${before + 1},false]`);
    expect(await get("/count")).toBe(`[${before + 2},false]`);
    expect(await app.database.fetchval("select count(*) from counted")).toBe(before + 2);
    expect(app.database.stats().replicas).toMatchObject([{ usable: true }]);
  });

  it("An error of the statement itself is that of the replica, and a table it does not have yet is read on the primary", async () => {
    const { app, get } = await started({}, (app) => {
      app.get("/zero", ({ db }) => db.fetchval("select 1 / 0").catch((error: Error) => [error.message]));
      app.get("/new", async ({ db }) => [await db.fetchval("select count(*) from replica_new")]);
    });
    expect(await get("/zero")).toBe('["division by zero"]');
    await follower.execute("select pg_wal_replay_pause()");
    await app.database.execute("create table replica_new (n int)");
    expect(await get("/new")).toBe("[0]");
  });

  it("A replica that crashes costs no request an error, and is used again afterwards", async () => {
    const { get } = await started({}, (app) => {
      app.get("/", async ({ db }) => [await db.fetchval(where)]);
      app.get("/pid", async ({ db }) => [await db.fetchval("select pg_backend_pid()")]);
    });
    expect(await get("/")).toBe("[true]");
    const [pid] = JSON.parse(await get("/pid")) as [number];
    // Like a crash of the server: all its sessions end, and it recovers.
    process.kill(pid, "SIGKILL");
    const answers = new Set<string>();
    await vi.waitFor(async () => {
      answers.add(await get("/"));
      expect(answers).toEqual(new Set(["[true]", "[false]"]));
    }, patient);
    await vi.waitFor(async () => expect(await get("/")).toBe("[true]"), patient);
    await vi.waitFor(async () => expect(await follower.fetchval("select 1")).toBe(1), patient);
  });

  it("A statement under way on a replica that is cut off runs again on the primary", async () => {
    const proxy = await FaultProxy.start(replicaUrl);
    closing.push(() => proxy.close());
    const { get } = await started({ replicas: [proxy.through(replicaUrl)] }, (app) => {
      app.get("/slow", async ({ db }) => [await db.fetchval("select pg_is_in_recovery() from pg_sleep(0.5)")]);
      app.get("/busy", async ({ db }) => [
        await db.primary.fetchval("select 1"),
        await follower.fetchval(
          "select count(*) from pg_stat_activity where query like '%pg_sleep(0.5)' and state = 'active'",
        ),
      ]);
    });
    const slow = get("/slow");
    await vi.waitFor(async () => expect(await get("/busy")).toBe("[1,1]"), { timeout: 20_000, interval: 5 });
    proxy.cut();
    expect(await slow).toBe("[false]");
  });

  it("The application starts without its replica, and uses it once it is there", async () => {
    const proxy = await FaultProxy.start(replicaUrl);
    closing.push(() => proxy.close());
    await proxy.close();
    warnings.length = 0;
    const { get } = await started({ replicas: [proxy.through(replicaUrl)] }, (app) => {
      app.get("/", async ({ db }) => [await db.fetchval(where)]);
    });
    expect(await get("/")).toBe("[false]");
    expect(warnings.join()).toContain("a replica of the database cannot be used");
    await proxy.open();
    await vi.waitFor(async () => expect(await get("/")).toBe("[true]"), patient);
  });

  it("A server that is not a replica gets no reads", async () => {
    warnings.length = 0;
    const { app, get } = await started({ replicas: [url] }, (app) => {
      app.get("/", async ({ db }) => [await db.fetchval(where)]);
    });
    expect(await get("/")).toBe("[false]");
    expect(app.database.stats().replicas).toMatchObject([{ usable: false }]);
    expect(warnings.join()).toContain("it is a primary, not a replica");
  });

  it("A request stays with one replica, and requests are spread over all", async () => {
    const [first, second] = [await FaultProxy.start(replicaUrl), await FaultProxy.start(replicaUrl)];
    closing.push(
      () => first.close(),
      () => second.close(),
    );
    const replicas = [first.through(replicaUrl), second.through(replicaUrl)];
    const { get } = await started({ replicas, poolSize: 1 }, (app) => {
      app.get("/", async ({ db }) => {
        const pids = [1, 2, 3].map(() => db.fetchval("select pg_backend_pid()"));
        return [...new Set(await Promise.all(pids))];
      });
    });
    const answers = new Set<string>();
    for (let n = 0; n < 6; n++) answers.add(await get("/"));
    expect([...answers].map((answer) => (JSON.parse(answer) as number[]).length)).toEqual([1, 1]);
  });
});
