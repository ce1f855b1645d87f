import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database, Queries } from "../../../src/engines/db/database.js";
import { ProgrammingError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { firstKeyword } from "../../../src/engines/db/statements.js";
import { sessionStateOf } from "../../../src/engines/db/transaction/session-state.js";
import { ValueError } from "../../../src/kit/value-error.js";
import { service } from "../../support/service.js";
import { bothEngines } from "./engines.js";

describe("the session state that the text of a statement shows", () => {
  const stateOf = (text: string) => sessionStateOf(text, firstKeyword(text));

  it.each([
    "select set_config('app.user', $1, false)",
    "SELECT SET_CONFIG('app.user', $1, $2)",
    "select set_config ( 'a,(b', '''', false )",
    "select set_config('a', '1', true), set_config('b', '2', false)",
    "select \"set_config\"('a', '1', true)",
    "with s as (select set_config('a', (select ')'), false)) select * from s",
    "select set_config('unfinished",
    `select ${"set_config('a', '1', true), ".repeat(17)} 1`,
    "select pg_advisory_lock(1)",
    "select pg_try_advisory_lock_shared(1, 2)",
    "create temp table t (a int)",
    "create local temporary table t (a int) on commit delete rows",
    "create or replace temporary view v as select 1",
    "select 1 as a into temp t",
    "create table pg_temp.t (a int)",
    "create /* a /* comment */ */ temp table t (a int)",
    "create -- a comment\n temp table t (a int)",
    "create temp table t (a int) -- on commit drop",
    "create temp table t as select 'on commit drop' as a",
    "select set_config('a', 'b', false /* , true */)",
    "select set_config('a', E'\\', true) ', false)",
    "select $$it's$$, set_config('a', 'b', false)",
    "select $tag$ -- $tag$, set_config('a', 'b', false)",
    "select E'it''s \\'', set_config('a', 'b', false)",
    "select case when true then 'a' else'\\' end, set_config('a', 'b', false)",
    "select 1 -- x\r, set_config('a', 'b', false)",
    "select set_config('a', $$x, true)$$, false)",
    'create table "pg_temp".t (a int)',
  ])("The statement %s leaves state in the session", (text) => {
    expect(stateOf(text)).toBe("certain");
  });

  it.each([
    "do $$ begin perform 1; end $$",
    "call refresh()",
    "declare c cursor with hold for select 1",
    "select setseed(0.5)",
  ])("The statement %s may leave state in the session", (text) => {
    expect(stateOf(text)).toBe("possible");
  });

  it.each([
    "select temp, hold from weather where template = $1",
    "select set_config('app.user', $1, true)",
    "select set_config('app.user', (select coalesce('a)', \"b\")), true), set_config('b', $2, is_local => TRUE )",
    "select pg_advisory_xact_lock(1)",
    "create temp table t on commit drop as select 1",
    "create temp table t on /* no trace */ commit drop as select 1",
    "select set_config('app.user', $1, true /* local */)",
    "select 'create temp table t' as example, \"it's -- \" from templates /* into temp t */ where title <> '--' -- into temp t",
    "declare c cursor for select 1",
    "update settings set config = 'x'",
    "insert into t values ($1)",
  ])("The statement %s leaves no state in the session", (text) => {
    expect(stateOf(text)).toBeNull();
  });

  it("A statement of any length is examined in one pass", () => {
    for (const part of [
      "create ",
      "temp ",
      "set_config(",
      "set_config('",
      "into temp\n",
      "pg_advisory_ ",
      "temp /* ",
      "temp E'\\' ",
    ]) {
      stateOf(`select ${part.repeat(200_000)}`);
    }
  });
});

describe.each(bothEngines(service("postgres")))("the next user of a connection on $name", (engine) => {
  let made: Awaited<ReturnType<typeof engine.make>>;
  let db: Database;

  beforeAll(async () => {
    made = await engine.make();
    db = await openDatabase({ url: made.url, poolSize: 1 });
  });

  afterAll(async () => {
    await db?.close();
    await made?.drop();
  });

  /** Everything that a session can have besides a transaction. */
  const state = async (): Promise<unknown> => ({
    setting: (await db.fetchval("select current_setting('app.kept', true)")) || null,
    tables: await db.fetchval("select count(*) from pg_class where relname = 'left_behind'"),
    locks: await db.fetchval("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711"),
    cursors: await db.fetchval("select count(*) from pg_cursors where name = 'kept'"),
  });
  const nothing = { setting: null, tables: 0, locks: 0, cursors: 0 };

  const leaving = [
    "select set_config('app.kept', 'value', false)",
    "select pg_advisory_lock(4711)",
    "create temp table left_behind (a int)",
    "do $$ begin perform set_config('app.kept', 'value', false); perform pg_advisory_lock(4711); end $$",
  ];

  it.each(leaving)("The next user of a connection finds no state of a single statement: %s", async (text) => {
    await db.execute(text);
    expect(await state()).toEqual(nothing);
  });

  it.each(leaving)(
    "The next user of a connection finds no state of a cancelled or failed statement: %s",
    async (text) => {
      await db.fetch(text, [], { signal: AbortSignal.abort() }).catch(() => {});
      await expect(db.fetch(`${text}; select`)).rejects.toThrow();
      expect(await state()).toEqual(nothing);
    },
  );

  it.each([...leaving, "declare kept cursor with hold for select 1"])(
    "The next user of a connection finds no state of a transaction: %s",
    async (text) => {
      await db.transaction((tx) => tx.execute(text));
      expect(await state()).toEqual(nothing);
      await expect(
        db.transaction(async (tx) => {
          await tx.execute(text);
          throw new Error("undo");
        }),
      ).rejects.toThrow("undo");
      expect(await state()).toEqual(nothing);
    },
  );

  it("The next user of a connection finds no state of a script in a transaction", async () => {
    await db.transaction((tx) => tx.script("set app.kept = 'value'; select pg_advisory_lock(4711)"));
    expect(await state()).toEqual(nothing);
  });

  it("The next user of a connection finds no state of a transaction in a session", async () => {
    await db.session(async (session) => {
      await session.transaction((tx) => tx.execute("select set_config('app.kept', 'value', false)"));
      expect(await session.fetchval("select current_setting('app.kept')")).toBe("value");
    });
    expect(await state()).toEqual(nothing);
  });

  it("A statement never shares its connection with one that changes the session", async () => {
    const seen = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n % 10 === 5
          ? db.execute("select set_config('app.kept', 'value', false)").then(() => null)
          : db.fetchval<string>("select current_setting('app.kept', true)"),
      ),
    );
    expect(seen.filter((value) => value !== null && value !== "")).toEqual([]);
  });

  it.each(["set app.kept = 'value'", "listen left_behind"])(
    "The statement %s is refused in a transaction",
    async (text) => {
      await expect(db.transaction((tx) => tx.execute(text))).rejects.toBeInstanceOf(ProgrammingError);
      expect(await state()).toEqual(nothing);
    },
  );

  if (engine.name !== "pglite") {
    it("Prepared statements are kept on a connection that was not changed, and dropped by a reset", async () => {
      const count = "select count(*) from pg_prepared_statements where statement like '%-- kept%'";
      for (let n = 0; n < 3; n++) {
        await db.transaction((tx) => tx.fetchval("select $1::int -- kept", [n]), { settings: { "app.user": n } });
      }
      expect(await db.fetchval(count, [], { prepare: false })).toBe(1);
      // A reset forgets them.
      await db.execute("select pg_advisory_lock(4711)");
      expect(await db.fetchval(count, [], { prepare: false })).toBe(0);
    });
  }

  describe("transactions with settings", () => {
    const user = (queries: Queries) => queries.fetchval<string>("select current_setting('app.user', true)");

    it("The settings of a transaction are visible in it and not afterwards", async () => {
      await db.transaction(
        async (tx) => {
          expect(await user(tx)).toBe("4711");
          await tx.transaction(async (inner) => expect(await user(inner)).toBe("4711"));
        },
        { settings: { "app.user": 4711 } },
      );
      expect((await user(db)) || null).toBeNull();
    });

    it("The settings of a transaction are gone after a rollback", async () => {
      const failing = db.transaction(() => Promise.reject(new Error("undo")), { settings: { "app.user": "ada" } });
      await expect(failing).rejects.toThrow("undo");
      expect((await user(db)) || null).toBeNull();
    });

    it("The values of settings arrive as they were given", async () => {
      const text = "o'hara'; drop table x; -- $1 \\ \"é\"";
      const read = (tx: Queries) =>
        tx.fetchrow("select current_setting('app.text') as t, current_setting('app.yes') as y");
      const settings = { "app.text": text, "app.yes": true, "app.big": 2n ** 70n };
      expect(await db.transaction(read, { settings })).toEqual({ t: text, y: "true" });
    });

    it("An invalid setting of a transaction is refused", async () => {
      const run = (settings: object) => db.transaction(() => 1, { settings: settings as Record<string, string> });
      await expect(run({ "app.user": null })).rejects.toThrow(
        new ValueError("option 'settings' in transaction(): 'app.user' must be a string or a number, not null"),
      );
      await expect(run({ "app.user": { id: 1 } })).rejects.toThrow("not object");
      await expect(run({ "": "x" })).rejects.toThrow("a name is not valid");
      await expect(run({ "app.user": "a\0b" })).rejects.toThrow("U+0000");
      await expect(run({ "app.user; drop table x": "x" })).rejects.toBeInstanceOf(ProgrammingError);
      await expect(run({ no_such_setting: "x" })).rejects.toBeInstanceOf(ProgrammingError);
      expect(await db.fetchval("select 1")).toBe(1);
      await expect(db.transaction((tx) => tx.transaction(() => 1, { settings: { "app.user": "x" } }))).rejects.toThrow(
        "option 'settings' is for the outermost transaction only",
      );
    });

    it("Row-level security shows a transaction only the rows of the user in its settings", async () => {
      const role = `reader_${Math.random().toString(36).slice(2)}`;
      await db.script(`
        create role ${role};
        create table notes (owner text, note text);
        insert into notes values ('ada', 'of ada'), ('emma', 'of emma');
        alter table notes enable row level security;
        create policy own on notes using (owner = current_setting('app.user', true));
        grant select on notes to ${role};`);
      const notes = (owner: string) =>
        db.transaction((tx) => tx.fetch("select note from notes"), { settings: { "app.user": owner, role } });
      expect(await Promise.all([notes("ada"), notes("emma"), notes("' or true --")])).toEqual([
        [{ note: "of ada" }],
        [{ note: "of emma" }],
        [],
      ]);
      expect(await db.transaction((tx) => tx.fetch("select note from notes"), { settings: { role } })).toEqual([]);
      await db.script(`drop table notes; drop role ${role}`);
    });
  });
});
