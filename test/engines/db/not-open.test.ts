import { getEventListeners } from "node:events";
import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { DatabaseConfig } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { OperationalError, ParameterTypeError, ProgrammingError } from "../../../src/engines/db/errors.js";
import { PoolDatabase } from "../../../src/engines/db/pool/pool-database.js";
import { ValueError } from "../../../src/kit/value-error.js";

const notConnected =
  "app.database was used before the application was started: use it in handlers and startup hooks, or after app.start()";

const failure = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => expect.unreachable("did not fail"),
    (error: unknown) => error,
  );

describe("a database that is not open", () => {
  const closed = (): Database => PoolDatabase.create(new DatabaseConfig("pglite:"));

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

describe("a database that is taken before the start", () => {
  it("A database that is taken before the start runs statements afterwards", async () => {
    const app = new App();
    app.enableDatabase("pglite:");
    const db = app.database;
    expect(app.database).toBe(db);
    await app.start();
    try {
      const { sql } = db;
      expect(db.engine).toBe("pglite");
      expect(await db.fetchval("select 1")).toBe(1);
      expect(await sql`select ${2}::int n`).toEqual([{ n: 2 }]);
      expect(await db.primary.fetchval("select 3")).toBe(3);
      expect(await db.session((session) => session.fetchval("select 4"))).toBe(4);
      expect(db.current).toBe(app.database);
      await db.transaction(async (tx) => expect(db.current).toBe(tx));
      expect(db).toBeInstanceOf(PoolDatabase);
    } finally {
      await app.stop();
    }
    expect(await failure(db.fetch("select 1"))).toMatchObject({ message: "the database has been closed" });
  });

  it.each<[string, (db: Database) => unknown]>([
    ["fetch", (db) => db.fetch("select 1")],
    ["transaction", (db) => db.transaction(() => 1)],
    ["sql", (db) => db.sql],
    ["stats", (db) => db.stats()],
  ])("A database that is used before the start is an error that names %s", (member, use) => {
    const app = new App();
    app.enableDatabase("pglite:");
    expect(() => use(app.database)).toThrow(OperationalError);
    expect(() => use(app.database)).toThrow(notConnected.replace("app.database", `app.database.${member}`));
  });
});
