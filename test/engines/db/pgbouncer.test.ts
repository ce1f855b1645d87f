import { setTimeout as delay } from "node:timers/promises";
import { App } from "stoa";
import { serve } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { DatabaseOptions } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { DataError, OperationalError, ProgrammingError, UniqueViolation } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { sql } from "../../../src/engines/db/sql/sql.js";
import { bindDatabase, createTables, F } from "../../../src/entry/orm.js";
import { Author, Book, bookshop, seed } from "../../orm/bookshop.js";
import { service } from "../../support/service.js";
import { makeDatabase } from "./engines.js";

const server = service("postgres") ?? "";
const pooler = service("pgbouncer") ?? "";
/** As many connections as the pooler opens for one database. */
const serverConnections = 3;

describe.skipIf(pooler === "")("a database behind PgBouncer in transaction mode", () => {
  let made: Awaited<ReturnType<typeof makeDatabase>>;
  let direct: Database;
  let db: Database;
  let url: string;
  const opened: Database[] = [];

  const open = async (options: Partial<DatabaseOptions> = {}): Promise<Database> => {
    const database = await openDatabase({ url, ...options });
    opened.push(database);
    return database;
  };

  beforeAll(async () => {
    made = await makeDatabase(server);
    direct = await openDatabase({ url: made.url, applicationName: "direct" });
    const through = new URL(pooler);
    through.pathname = new URL(made.url).pathname;
    through.searchParams.set("pgbouncer", "true");
    url = through.href;
    db = await open();
  });

  afterAll(async () => {
    bindDatabase(null);
    await Promise.all(opened.map((database) => database.close()));
    await direct?.close();
    await made?.drop();
  });

  const sessions = (): Promise<number | null> =>
    direct.fetchval<number>(
      "select count(*) from pg_stat_activity " +
        "where datname = current_database() and backend_type = 'client backend' and application_name <> 'direct'",
    );

  describe("calls", () => {
    it("Every call runs behind PgBouncer", async () => {
      await db.script("create table calls (id int primary key, name text, at timestamptz); truncate calls");
      const at = new Date("2024-02-29T12:30:00.000Z");
      const inserted = await db.execute("insert into calls values ($1, $2, $3), (2, null, null)", [1, "Emma", at]);
      expect(inserted).toEqual({ command: "INSERT", rowCount: 2 });
      expect(await db.fetch("select * from calls where id = $1", [1])).toEqual([{ id: 1, name: "Emma", at }]);
      expect(await db.fetchrow("select name from calls order by id desc")).toEqual({ name: null });
      expect(await db.fetchval("select name from calls where id = any($1)", [[1, 7]])).toBe("Emma");
      expect(await db.fetchArrays("select id from calls order by id")).toEqual({ columns: ["id"], rows: [[1], [2]] });
      expect(await db.fetchText("select jsonb_build_object('n', 1)")).toBe('{"n": 1}');
      expect(await db.sql`select id from calls where id in (${sql.join([1, 2])}) order by id`.val()).toBe(1);
      await db.ping();
    });

    it("A cursor behind PgBouncer returns rows in batches", async () => {
      const seen: unknown[] = [];
      for await (const { n } of db.cursor("select n from generate_series(1, $1::int) n", [250], { batch: 100 }))
        seen.push(n);
      expect(seen).toEqual(Array.from({ length: 250 }, (_, i) => i + 1));
    });

    it("Transactions, savepoints and their options work behind PgBouncer", async () => {
      await db.script("create table steps (n int)");
      await db.transaction(
        async (tx) => {
          const pid = await tx.fetchval("select pg_backend_pid()");
          await tx.execute("insert into steps values ($1)", [1]);
          await tx.transaction((inner) => inner.execute("insert into steps values (1 / $1::int)", [0])).catch(() => {});
          await tx.transaction((inner) => inner.execute("insert into steps values ($1)", [2]));
          expect(await tx.fetchval("select current_setting('transaction_isolation')")).toBe("serializable");
          expect(await tx.fetchval("select current_setting('statement_timeout')")).toBe("5s");
          expect(await tx.fetchval("select pg_backend_pid()")).toBe(pid);
        },
        { isolation: "serializable", statementTimeout: 5 },
      );
      const failing = db.transaction(async (tx) => {
        await tx.execute("insert into steps values (3)");
        throw new Error("changed my mind");
      });
      await expect(failing).rejects.toThrow("changed my mind");
      expect(await db.fetchval("select array_agg(n order by n) from steps")).toEqual([1, 2]);
    });

    it("Models work behind PgBouncer: tables, writes, relations, pages, cursors and JSON made by the database", async () => {
      bindDatabase(db);
      await createTables(db, bookshop);
      await seed();
      const [first] = await Book.objects.selectRelated("author").orderBy("-year", "title").filter({ year__gte: 2000 });
      expect([first?.title, first?.author.name]).toEqual(["Lavinia", "Ursula K. Le Guin"]);
      const authors = await Author.objects.prefetchRelated("books__tags").orderBy("name");
      expect(authors.map(({ books }) => books.length)).toEqual([2, 1, 3]);
      await Book.objects.filter({ title: "Matter" }).update({ stock: F("stock").plus(2) });
      const matter = await Book.objects.get({ title: "Matter" });
      matter.price = "11.50";
      await matter.save();
      await matter.refresh();
      expect([matter.stock, matter.price]).toEqual([3, "11.50"]);
      const titles: string[] = [];
      for await (const book of Book.objects.orderBy("title").iterator({ batch: 2 })) titles.push(book.title);
      expect(titles).toHaveLength(6);
      expect((await Book.objects.filter({ title: "Emma" }).json()).text).toBe("[]");
      expect((await Book.objects.orderBy("title").page(2, 4)).items).toHaveLength(2);
      const [, created] = await Author.objects.getOrCreate({ email: "ursula@example.org" }, { name: "Ursula" });
      expect(created).toBe(false);
    });
  });

  describe("failures", () => {
    it("Errors behind PgBouncer have the usual classes and attributes, and later calls work", async () => {
      await db.script("create table people (email text constraint one_each unique)");
      await db.execute("insert into people values ($1)", ["ada@example.org"]);
      const again = db.execute("insert into people values ($1)", ["ada@example.org"]);
      await expect(again).rejects.toBeInstanceOf(UniqueViolation);
      await expect(again).rejects.toMatchObject({ sqlstate: "23505", constraint: "one_each", column: "email" });
      await expect(db.fetch("selec 1")).rejects.toBeInstanceOf(ProgrammingError);
      await expect(db.fetchval("select $1::int", ["many"])).rejects.toBeInstanceOf(DataError);
      const swallowed = db.transaction(async (tx) => {
        await tx.execute("insert into people values ($1)", ["ada@example.org"]).catch(() => {});
      });
      await expect(swallowed).rejects.toMatchObject({ sqlstate: "25P02" });
      expect(await db.fetchval("select count(*) from people")).toBe(1);
    });

    it("An invalid statement among several under way fails alone behind PgBouncer", async () => {
      const one = await open({ poolSize: 1 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 40 }, (_, i) => one.fetchval("select 12 / $1::int", [i % 4])),
      );
      expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed"))).toEqual(
        Array.from({ length: 40 }, (_, i) => ["failed", 12, 6, 4][i % 4]),
      );
    });

    it("A statement behind PgBouncer is stopped at its time limit, though the server knows of no limit", async () => {
      const impatient = await open({ poolSize: 1, statementTimeout: 0.2 });
      const error = await impatient.fetch("select pg_sleep(44)").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OperationalError);
      expect(error).toMatchObject({ sqlstate: "57014" });
      await vi.waitFor(async () => expect(await sleeping("select pg_sleep(44)")).toBe(0), { timeout: 5000 });
      expect(await impatient.fetchval("select 1")).toBe(1);
    });
  });

  const sleeping = (text: string): Promise<unknown> =>
    direct.fetchval("select count(*) from pg_stat_activity where query = $1 and state = 'active'", [text]);

  it.each([
    ["a statement", "select pg_sleep(55)", false],
    ["a transaction", "select pg_sleep(56)", true],
  ])(
    "The server behind PgBouncer stops %s when the client of a request disconnects",
    async (_, text, inTransaction) => {
      const app = new App().enableDatabase({ url, poolSize: 2 });
      const nothing = (): void => {};
      const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
      app.logger = logger;
      app.get("/slow", async (request) =>
        inTransaction ? request.db.transaction((tx) => tx.fetch(text)) : request.db.fetch(text),
      );
      app.get("/quick", async (request) => ({ n: await request.db.fetchval("select 1") }));
      await using wire = await serve(app, { debug: false });
      const client = new AbortController();
      const call = fetch(`${wire.url}/slow`, { signal: client.signal }).catch(() => {});
      await vi.waitFor(async () => expect(await sleeping(text)).toBe(1));
      client.abort();
      await call;
      await vi.waitFor(async () => expect(await sleeping(text)).toBe(0), { timeout: 5000 });
      await vi.waitFor(() => expect(app.database.stats().inUse).toBe(0));
      expect(await (await fetch(`${wire.url}/quick`)).json()).toEqual({ n: 1 });
    },
  );

  it("Many clients share a few connections of the server behind PgBouncer", async () => {
    await db.script("create table hits (id int primary key, n int not null); insert into hits values (1, 0), (2, 0)");
    // Each is a process of its own as far as the pooler can tell.
    const clients = await Promise.all(Array.from({ length: 12 }, () => open({ poolSize: 4, acquireTimeout: 20 })));
    let most = 0;
    let done = false;
    const watching = (async () => {
      while (!done) {
        most = Math.max(most, (await sessions()) ?? 0);
        await delay(5);
      }
    })();
    const answers = await Promise.all(
      clients.flatMap((client, c) => [
        ...Array.from({ length: 60 }, (_, i) => client.fetchval<number>("select $1::int", [c * 1000 + i])),
        ...Array.from({ length: 10 }, () => client.execute("update hits set n = n + 1 where id = $1", [1])),
        ...Array.from({ length: 10 }, () =>
          client.transaction(async (tx) => {
            const n = await tx.fetchval<number>("select n from hits where id = $1 for update", [2]);
            await tx.execute("update hits set n = $1 where id = 2", [n! + 1]);
          }),
        ),
      ]),
    );
    done = true;
    await watching;
    const numbers = answers.filter((answer) => typeof answer === "number");
    expect(numbers).toEqual(clients.flatMap((_, c) => Array.from({ length: 60 }, (_, i) => c * 1000 + i)));
    expect(await direct.fetch("select n from hits order by id")).toEqual([{ n: 120 }, { n: 120 }]);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(serverConnections);
    expect(clients.reduce((sum, client) => sum + client.stats().total, 0)).toBeGreaterThan(serverConnections);
  });

  it("A database behind PgBouncer leaves no prepared statements, even if a call asks for one", async () => {
    for (let i = 0; i < 5; i++) await db.fetchval("select $1::int", [i], { prepare: true });
    const counts = await Promise.all(
      Array.from({ length: 20 }, () => db.fetchval("select count(*) from pg_prepared_statements")),
    );
    expect(new Set(counts)).toEqual(new Set([0]));
  });

  describe("refusals", () => {
    it.each([
      ["listen()", () => db.listen("news", () => {})],
      ["session()", () => db.session((session) => session.execute("select pg_advisory_lock(1)"))],
    ])("The call %s behind PgBouncer is refused with a hint", async (call, run) => {
      const error = await run().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ProgrammingError);
      expect((error as Error).message).toBe(
        `${call} needs its own session, which a pooler in transaction mode does not give: ` +
          "use a database that is connected to the server itself, with 'preparedStatements' left at true",
      );
    });

    it.each([
      "select set_config('app.user', 'ada', false)",
      "select pg_advisory_lock(1)",
      "create temp table t (a int)",
    ])("A statement that leaves state in a session of the pooler is refused: %s", async (text) => {
      for (const run of [() => db.execute(text), () => db.transaction((tx) => tx.execute(text))]) {
        const error = await run().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(ProgrammingError);
        expect((error as Error).message).toContain("set_config(..., true), pg_advisory_xact_lock, `on commit drop`");
      }
    });

    it("A statement whose effect ends with its transaction is accepted behind PgBouncer", async () => {
      const seen = await db.transaction(
        async (tx) => {
          await tx.execute("create temp table t on commit drop as select 1 as one");
          return tx.fetchval("select current_setting('app.user')");
        },
        { settings: { "app.user": "ada" } },
      );
      expect(seen).toBe("ada");
      const left = await Promise.all(
        Array.from({ length: 20 }, () => db.fetchval("select current_setting('app.user', true)")),
      );
      expect(left.filter((value) => value !== null && value !== "")).toEqual([]);
    });

    it("A notification is accepted behind PgBouncer", async () => {
      let told: (payload: string) => void = () => {};
      const heard = new Promise<string>((resolve) => (told = resolve));
      await using _ = await direct.listen("news", told);
      await db.transaction((tx) => tx.execute("select pg_notify('news', $1)", ["hello"]));
      expect(await heard).toBe("hello");
    });

    it("A connection to PgBouncer without the option fails with an error that names the option", async () => {
      const plain = new URL(url);
      plain.searchParams.delete("pgbouncer");
      const error = await openDatabase({ url: plain.href, connectTimeout: 60 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OperationalError);
      expect((error as Error).message).toContain("unsupported startup parameter: statement_timeout");
      expect((error as Error).message).toContain("preparedStatements: false");
    });
  });
});
