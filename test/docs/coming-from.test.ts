import { readFile } from "node:fs/promises";
import { App, type Database, openDatabase } from "stoa";
import { Migrator, migration, op } from "stoa/migrations";
import { bindDatabase, createTables } from "stoa/orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { migrate as migrateCommands } from "../../src/cli/commands/migrate.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { codeBlocks, codeOfTables, withoutSpace } from "./code-in-markdown.js";
import { fromDjango, fromDrizzle, fromPrisma, models, routes, sameQueries, seed, startup } from "./coming-from.js";
import addPages from "./coming-from-migration.js";

const empty = emptyDatabases(service("postgres"));

const page = await readFile(new URL("../../docs/coming-from.md", import.meta.url), "utf8");
const files = ["./coming-from.ts", "./coming-from-migration.ts"];
const texts = await Promise.all(files.map((file) => readFile(new URL(file, import.meta.url), "utf8")));
const source = withoutSpace(texts.join("\n"));
const shown = codeOfTables(page, "Stoa");
const isCommand = (code: string): boolean => code.startsWith("stoa ");

describe("the page for newcomers", () => {
  it.each(codeBlocks(page, "ts"))("A code block of the page for newcomers is run in these tests: %s", (block) => {
    expect(source).toContain(withoutSpace(block.replace(/^import .*/gm, "")));
  });

  it.each(shown.filter((code) => !isCommand(code)))(
    "The code named in the page is compiled in these tests: %s",
    (code) => {
      expect(source).toContain(withoutSpace(code));
    },
  );

  it.each(shown.filter(isCommand))("The command in the page exists: %s", (line) => {
    const [, group, command] = line.split(" ");
    expect([group, Object.keys(migrateCommands.commands)]).toEqual(["migrate", expect.arrayContaining([command])]);
  });
});

describe("the code of that page", () => {
  let db: Database;

  beforeAll(async () => {
    db = await openDatabase(await empty());
    bindDatabase(db);
    await createTables(db, models);
    await seed();
  });

  afterAll(async () => {
    bindDatabase(null);
    await db?.close();
  });

  it("The documented queries give the results that the page states", async () => {
    expect(await sameQueries(1)).toEqual([
      [
        ["Lavinia", "Ursula K. Le Guin"],
        ["Powers", "Ursula K. Le Guin"],
      ],
      [3],
      1,
    ]);
    await expect(sameQueries(1)).rejects.toThrow();
  });

  it("The documented code runs, line by line", async () => {
    const [hook, sent] = [vi.fn(), vi.fn()];
    expect((await fromDjango(db, hook, sent)).at(-1)).toBe("Iain Banks");
    expect([hook.mock.calls.length, sent.mock.calls.length]).toEqual([1, 1]);
    expect((await fromPrisma(db))[0]).toBe(true);
    expect((await fromDrizzle()).length).toBeGreaterThan(0);
  });

  it("The documented routes respond to requests", async () => {
    const app = new App();
    routes(app);
    app.get("/missing", async () => models[2]!.objects.get({ id: 999 } as never));
    expect((await app.request("/missing")).status).toBe(404);
    const body = JSON.stringify({ title: "Gifts", author: 1, price: "3.00" });
    const headers = { "content-type": "application/json" };
    expect((await app.request("/books", { method: "POST", body, headers })).status).toBe(200);
    expect((await app.request("/books/1", { method: "PATCH", body: '{"year":1}', headers })).status).toBe(204);
  });

  it("The documented migration runs forward and back", async () => {
    await db.script("drop schema public cascade; create schema public");
    const books = op.createTable("books", { columns: { title: { type: "text" } } });
    const migrations = { "0001_initial": migration({ operations: [books] }), "0002_pages": addPages };
    const migrator = new Migrator(db, { migrations });
    const rows = (): Promise<object[]> => db.fetch("select * from books", [], { prepare: false });
    await migrator.up({ to: "0001_initial" });
    await db.execute("insert into books values ('Emma')");
    await migrator.up();
    expect(await rows()).toEqual([{ title: "Emma", pages: 100 }]);
    await migrator.down();
    expect(await rows()).toEqual([{ title: "Emma" }]);
    await expect(startup(db, new URL("./nowhere/", import.meta.url))).rejects.toThrow("nowhere");
  });
});
