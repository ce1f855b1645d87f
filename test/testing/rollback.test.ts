import { App } from "stoa";
import { factory, rollbackEach, rolledBack, testClient } from "stoa/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { UniqueViolation } from "../../src/engines/db/errors.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { bindDatabase, createTables, orConflict } from "../../src/entry/orm.js";
import { bothEngines } from "../engines/db/engines.js";
import { Author, Book, bookshop, Tag } from "../orm/bookshop.js";
import { service } from "../support/service.js";

const authors = factory(Author, (n) => ({ name: `Author ${n}` }));
const books = factory(Book, (n) => ({ title: `Book ${n}`, author: authors.values() }));
const tags = factory(Tag, (n) => ({ name: `tag ${n}` }));

describe.each(bothEngines(service("postgres")))("a transaction for each test ($name)", (engine) => {
  let db: Database;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const made = await engine.make();
    drop = made.drop;
    db = await openDatabase({ url: made.url, poolSize: 4 });
    bindDatabase(db);
    await createTables(db, bookshop);
  });
  afterAll(async () => {
    bindDatabase(null);
    await db?.close();
    await drop?.();
  });

  describe("around each test", () => {
    rollbackEach(() => db, { beforeEach, afterEach });

    it.each([1, 2])("Rows of a test are not there in the next one (%i)", async () => {
      expect(await Tag.objects.count()).toBe(0);
      await Tag.objects.create({ name: "only here" });
      expect(await db.fetchval("select count(*) from tags")).toBe(1);
    });

    it("A statement that fails does not end the transaction of the test", async () => {
      await Tag.objects.create({ name: "once" });
      await expect(Tag.objects.create({ name: "once" })).rejects.toThrow(UniqueViolation);
      expect(await Tag.objects.count()).toBe(1);
    });

    it("A transaction of the application is a savepoint, with the hooks of its commit", async () => {
      const seen: string[] = [];
      await expect(
        db.transaction(async (tx) => {
          tx.onCommit(() => seen.push("lost"));
          await Tag.objects.create({ name: "lost" });
          throw new Error("undone");
        }),
      ).rejects.toThrow("undone");
      await db.transaction(
        async (tx) => {
          tx.onCommit(() => seen.push("kept"));
          await Tag.objects.create({ name: "kept" });
          expect(await db.fetchval("select current_setting('app.user')")).toBe("7");
          expect(seen).toEqual([]);
        },
        { isolation: "serializable", settings: { "app.user": 7 }, retry: 3 },
      );
      expect(seen).toEqual(["kept"]);
      expect(await Tag.objects.flat("name")).toEqual(["kept"]);
    });

    it("Transactions that run at the same time wait for one another", async () => {
      const all = Array.from({ length: 5 }, (_, n) =>
        db
          .transaction(async () => {
            await Tag.objects.create({ name: `tag ${n}` });
            if (n % 2 === 1) throw new Error("odd");
          })
          .catch(() => {}),
      );
      await Promise.all(all);
      expect(await Tag.objects.orderBy("name").flat("name")).toEqual(["tag 0", "tag 2", "tag 4"]);
    });

    it("A transaction that is read only refuses writes, and the next one takes them", async () => {
      await expect(db.transaction(() => Tag.objects.create({ name: "no" }), { readOnly: true })).rejects.toMatchObject({
        sqlstate: "25006",
      });
      await db.transaction(() => Tag.objects.count(), { readOnly: true });
      await db.transaction(() => Tag.objects.create({ name: "yes" }));
      expect(await Tag.objects.flat("name")).toEqual(["yes"]);
    });

    it("The settings of a transaction end with it", async () => {
      const user = (): Promise<unknown> => db.fetchval("select current_setting('app.guest', true)");
      expect(await db.transaction(user, { settings: { "app.guest": "7" } })).toBe("7");
      expect((await user()) ?? "").toBe("");
    });

    it("Options of transactions are checked as outside of a test", async () => {
      await expect(db.transaction(() => {}, { isolated: true } as never)).rejects.toThrow(/isolated/);
    });

    it("The signal of a view of the database ends its statements", async () => {
      const view = db.withSignal(AbortSignal.abort(new Error("the client has left")));
      await expect(view.fetch("insert into tags (name) values ('x')")).rejects.toThrow(/cancelled/);
      await expect(view.transaction((tx) => tx.fetch("insert into tags (name) values ('x')"))).rejects.toThrow(
        /cancelled/,
      );
      expect(await Tag.objects.count()).toBe(0);
    });

    it("Scripts, sessions and cursors run in the transaction too", async () => {
      await db.script("insert into tags (name) values ('a'); insert into tags (name) values ('b')");
      expect(await db.session((session) => session.fetchval("select count(*) from tags"))).toBe(2);
      const names: string[] = [];
      for await (const tag of Tag.objects.orderBy("name")) names.push(tag.name);
      expect(names).toEqual(["a", "b"]);
    });

    it("Factories create rows with all that they need", async () => {
      const book = await books.create({ year: 2000 });
      expect(book.title).toMatch(/^Book \d+$/);
      expect((await book.author).name).toMatch(/^Author \d+$/);
      const author = await authors.create({ name: "Ursula", books: [{ title: "Lavinia" }] });
      const more = await books.with({ author, status: "published" }).createMany(3, { tags: [await tags.create()] });
      expect(new Set(more.map((each) => each.title)).size).toBe(3);
      expect(await Book.objects.filter({ author, status: "published" }).count()).toBe(3);
      expect((await books.create({ authorId: author.id })).authorId).toBe(author.id);
      expect(await Author.objects.count()).toBe(2);
    });

    it("A second transaction for the same test is refused", async () => {
      await expect(rolledBack(db, () => {})).rejects.toThrow("a transaction of a test is open already");
    });
  });

  it("Everything is rolled back at the end of the function, also when it throws", async () => {
    await expect(
      rolledBack(db, async () => {
        await Tag.objects.create({ name: "x" });
        throw new Error("mine");
      }),
    ).rejects.toThrow("mine");
    expect(await rolledBack(db, () => Tag.objects.count())).toBe(0);
  });

  it("Of two transactions that are opened for tests at the same time, one is refused", async () => {
    const both = await Promise.allSettled([rolledBack(db, () => 1), rolledBack(db, () => 2)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(await rolledBack(db, () => 3)).toBe(3);
  });

  it("The application under test uses the same transaction", async () => {
    const app = new App().enableDatabase(engine.name === "pglite" ? "pglite:" : await urlOf(db, service("postgres")!));
    app.post("/tags", { body: Tag, status: 201 }, (_request, { body }) => orConflict(Tag.objects.create(body)));
    app.get("/tags", async ({ db: own }) => ({ own: await own.fetchval("select count(*) from tags") }));
    await using client = await testClient(app).start();
    bindDatabase(app.database);
    if (engine.name === "pglite") await createTables(app.database, bookshop);
    await rolledBack(app, async () => {
      expect((await client.post("/tags", { json: { name: "a" } })).status).toBe(201);
      expect((await client.post("/tags", { json: { name: "a" } })).status).toBe(409);
      expect(await (await client.get("/tags")).json()).toEqual({ own: 1 });
    });
    expect(await (await client.get("/tags")).json()).toEqual({ own: 0 });
    bindDatabase(db);
  });
});

describe("what factories and rolledBack() refuse", () => {
  it("A factory without a model or without values is refused", () => {
    expect(() => factory({} as never, () => ({}) as never)).toThrow(/takes a model's class/);
    expect(() => factory(Tag, { name: "x" } as never)).toThrow(/takes a function/);
  });

  it("Something that is neither a database nor an application is refused", async () => {
    await expect(rolledBack({} as never, () => {})).rejects.toThrow("a database or an application is expected");
  });
});

/** The URL of the database that is open. */
async function urlOf(db: Database, server: string): Promise<string> {
  const url = new URL(server);
  url.pathname = `/${await db.fetchval("select current_database()")}`;
  return url.href;
}
