import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DatabaseConfig } from "../../../src/engines/db/config.js";
import type { Cursor, Database, Row, SqlQuery, SqlTag } from "../../../src/engines/db/database.js";
import { OperationalError, ParameterTypeError, ProgrammingError } from "../../../src/engines/db/errors.js";
import { LazyDatabase } from "../../../src/engines/db/lazy-database.js";
import { PoolDatabase } from "../../../src/engines/db/pool/pool-database.js";
import { ValueError } from "../../../src/kit/value-error.js";
import { service } from "../../support/service.js";
import { engines } from "./engines.js";

const notConnected =
  "app.database was used before the application was started: use it in handlers and startup hooks, or after app.start()";

const failure = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => expect.unreachable("did not fail"),
    (error: unknown) => error,
  );

describe.each([
  ["not loaded", LazyDatabase.create],
  ["loaded", PoolDatabase.create],
])("a database that is not open, %s", (_name, create) => {
  const closed = (): Database => create(new DatabaseConfig("pglite:"));

  it.each<[string, (db: Database) => PromiseLike<unknown>]>([
    ["fetch", (db) => db.fetch("select 1")],
    ["fetchrow", (db) => db.fetchrow("select 1")],
    ["fetchval", (db) => db.fetchval("select 1")],
    ["fetchArrays", (db) => db.fetchArrays("select 1")],
    ["fetchText", (db) => db.fetchText("select 1")],
    ["fetchInto", (db) => db.fetchInto({ begin: () => {}, row: () => {} }, "select 1")],
    ["execute", (db) => db.execute("select 1")],
    ["sql", (db) => db.sql`select ${1}`],
    ["script", (db) => db.script("select 1")],
    ["cursor", (db) => db.cursor("select 1").next()],
    ["transaction", (db) => db.transaction(() => 1)],
    ["session", (db) => db.session(() => 1)],
    ["listen", (db) => db.listen("news", () => {})],
    ["ping", (db) => db.ping()],
    ["a view", (db) => db.withSignal(new AbortController().signal).fetch("select 1")],
  ])("A database that is not open refuses %s", async (_call, run) => {
    const error = await failure(run(closed()));
    expect(error).toBeInstanceOf(OperationalError);
    expect((error as Error).message).toBe(notConnected);
  });

  it("A mistake in a call is reported before the closed database", async () => {
    const db = closed();
    expect(await failure(db.fetch(5 as never))).toBeInstanceOf(ProgrammingError);
    expect(await failure(db.fetch("select $1", "a" as never))).toBeInstanceOf(ParameterTypeError);
    expect(await failure(db.execute("begin"))).toMatchObject({
      message: "transactions are opened and ended by transaction(), not by statements",
    });
    expect(await failure(db.fetch("select 1", [], { timeout: -1 }))).toBeInstanceOf(ValueError);
    expect(await failure(db.transaction(() => 1, { retries: 1 } as never))).toMatchObject({
      message: expect.stringMatching(/^unknown option 'retries' in transaction\(\)/),
    });
    expect(await failure(db.session(() => 1, { statementTimeout: -1 }))).toBeInstanceOf(ValueError);
    expect(await failure(db.withSignal(AbortSignal.abort()).fetch("select 1"))).toMatchObject({ sqlstate: "57014" });
  });

  it("A refused call removes its listener from the signal", async () => {
    const { signal } = new AbortController();
    const db = closed();
    await failure(db.fetch("select 1", [], { signal }));
    await failure(db.script("select 1", { signal }));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("A database that is not open refuses an invalid cursor at once", () => {
    const db = closed();
    expect(() => db.cursor(5 as never)).toThrow(ProgrammingError);
    expect(() => db.cursor("select 1", [], { batch: 0 })).toThrow(ValueError);
  });

  it("A database that is not open has no connections, no transaction and nothing to close", async () => {
    const db = closed();
    expect(db.stats()).toEqual({ total: 0, idle: 0, inUse: 0, waiting: 0 });
    expect(db.engine).toBe("pglite");
    expect(db.current).toBe(db);
    expect(await db.close()).toBeUndefined();
  });
});

describe.each(engines(service("postgres")))("a view from before the database on $name was open", ({ make }) => {
  const controller = new AbortController();
  const measured: unknown[] = [];
  let db: LazyDatabase;
  let drop: () => Promise<void>;
  let sql: SqlTag;
  let statement: SqlQuery;
  let cursor: Cursor<Row>;
  let view: Database;

  beforeAll(async () => {
    const made = await make();
    drop = made.drop;
    db = LazyDatabase.create(new DatabaseConfig(made.url));
    sql = db.sql;
    statement = sql`select ${2}::int n`;
    cursor = db.cursor("select generate_series(1, 3) n");
    view = db.withSignal(controller.signal);
    await db.measure({ settled: (_seconds, error) => measured.push(error) });
    expect(await failure(db.ping())).toMatchObject({ message: notConnected });
    await db.open();
  });

  afterAll(async () => {
    await db?.close();
    await drop?.();
  });

  it("A view from before the start runs statements", async () => {
    expect(await db.fetchval("select 1")).toBe(1);
    expect(await statement).toEqual([{ n: 2 }]);
    expect(await sql`select ${3}::int`.val()).toBe(3);
    expect(await cursor.read(3)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await cursor.close();
    await db.script("select 1; select 2");
    expect(await db.session((session) => session.fetchval("select 1"))).toBe(1);
    await db.ping();
    expect(db.stats().total).toBeGreaterThan(0);
  });

  it("A view from before the start knows the current transaction, as later views do", async () => {
    const later = db.withSignal(controller.signal);
    for (const each of [db, view, later]) expect(each.current).toBe(each);
    await view.transaction(async (tx) => {
      for (const each of [db, view, later]) expect(each.current).toBe(tx);
    });
    expect(db.current).toBe(db);
  });

  it("A view from before the start can listen", async () => {
    const heard = new Promise((resolve) => db.listen("news", resolve).then(() => db.execute("notify news, 'hello'")));
    expect(await heard).toBe("hello");
  });

  it("A view from before the start is measured", async () => {
    measured.length = 0;
    await db.fetchval("select 1");
    await failure(db.fetch("selec 1"));
    // A statement of an earlier test, such as `unlisten`, may end in between.
    expect(measured).toContain(null);
    expect(measured.filter((error) => error !== null)).toEqual([expect.any(ProgrammingError)]);
  });

  it("A statement of a view from before the start is cancelled with its signal", async () => {
    expect(await view.fetchval("select 1")).toBe(1);
    controller.abort();
    expect(await failure(view.fetch("select 1"))).toMatchObject({ sqlstate: "57014" });
    expect(await failure(view.transaction(() => 1))).toMatchObject({ sqlstate: "57014" });
    expect(await failure(view.session(() => 1))).toMatchObject({ sqlstate: "57014" });
    expect(await db.fetchval("select 1")).toBe(1);
  });

  it("A view from before the start fails once the database is closed", async () => {
    await db.close();
    expect(await failure(db.fetch("select 1"))).toMatchObject({ message: "the database has been closed" });
  });
});
