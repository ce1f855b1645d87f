import { readFile } from "node:fs/promises";
import { type Database, openDatabase } from "stoa";
import { bindDatabase, createTables } from "stoa/orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { codeBlocks, withoutSpace } from "./code-in-markdown.js";
import {
  aggregates,
  joins,
  models,
  relatedFields,
  relatedValues,
  routes,
  scopes,
  seed,
  selects,
  timeZones,
  trees,
  views,
} from "./orm-queries.js";

const empty = emptyDatabases(service("postgres"));

const page = await readFile(new URL("../../docs/orm-queries.md", import.meta.url), "utf8");
const source = withoutSpace(await readFile(new URL("./orm-queries.ts", import.meta.url), "utf8"));

/** A block is one piece, or several classes and statements, each of which stands in the source. */
const pieces = codeBlocks(page, "ts").flatMap((block) => block.split(/\n\n(?=\S)|;(?: \/\/ .*)?\n(?=await)/));

describe("the page on further queries", () => {
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

  it.each(pieces)("The code of the page on further queries is compiled in these tests: %s", (piece) => {
    expect(source).toContain(withoutSpace(piece.replace(/;(?: \/\/ .*)?\s*$/, "")));
  });

  it("The documented choice of fields loads what the page says", async () => {
    const [books, authors] = await relatedFields();
    expect(Object.keys(books[0]!.author)).toEqual(["id", "name"]);
    expect(authors[0]!.books[0]).not.toHaveProperty("price");
  });

  it("The documented values and groups give the rows that the page says", async () => {
    const [rows, groups, others] = await relatedValues();
    expect(rows).toEqual([
      { title: "Lavinia", tags__name: null },
      { title: "The Dispossessed", tags__name: "classic" },
      { title: "The Dispossessed", tags__name: "sf" },
    ]);
    expect(groups).toHaveLength(3);
    expect(others).toEqual([{ title: "The Dispossessed", tags__name: "classic" }]);
  });

  it("The documented route returns pages by key", async () => {
    const app = routes();
    const response = await app.request("/books?order=-author__name&size=1");
    const first = (await response.json()) as { items: { title: string }[]; next: string };
    expect(first.items).toHaveLength(1);
    const second = await app.request(`/books?order=-author__name&size=1&after=${first.next}`);
    expect(await second.json()).toMatchObject({ items: [{ title: "The Dispossessed" }], next: null });
    expect((await app.request("/books?size=51")).status).toBe(400);
    await app.stop();
  });

  it("The documented selects with joins give typed rows of several tables", async () => {
    const name = "Ursula K. Le Guin";
    const [written, ...others] = await selects();
    expect(written).toContainEqual({ title: "Lavinia", writer: name });
    expect(others).toEqual([
      [{ name, n: 2 }],
      [{ author__name: name, worth: "12.50" }],
      [name],
      [{ author__name: name, title: "Lavinia" }],
    ]);
  });

  it("The documented views have rows", async () => {
    const [shelves, years] = await views();
    expect(shelves[0]).toMatchObject({ books: 2, worth: "12.50", author: { name: "Ursula K. Le Guin" } });
    expect(years).toMatchObject([
      { year: 1974, books: 1 },
      { year: 2008, books: 1 },
    ]);
  });

  it("The documented queries with time zones, aggregates, trees, joins and scopes run", async () => {
    expect(await timeZones()).toEqual([
      1,
      [
        { soldAt__month: 4, sold: 1 },
        { soldAt__month: null, sold: 1 },
      ],
      [
        { day: new Date("2024-03-31T22:00:00Z"), sold: 1 },
        { day: null, sold: 1 },
      ],
    ]);
    expect((await aggregates())[0]).toMatchObject({ typical: 290, recent: null });
    const [below, above, levels] = await trees();
    expect([below.length, above.length, levels.map(({ level }) => level)]).toEqual([3, 2, [0, 1, 2]]);
    expect(await joins()).toMatchObject([{ published: 2, newest: 2008 }]);
    const [papers, values] = await scopes();
    expect(papers.map(({ title }) => title)).toEqual(["a"]);
    expect(values).toEqual([{ title: "a", decade: 202 }]);
  });
});
