import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { createTables } from "../../src/entry/orm.js";
import {
  compareStates,
  databaseDrift,
  type IntrospectOptions,
  introspect,
  writeModels,
} from "../../src/introspection/index.js";
import { emptyState, type SchemaState } from "../../src/orm/schema/state.js";
import { stateOf } from "../../src/orm/schema/state-of-models.js";
import { bookshop } from "../orm/bookshop.js";
import { service } from "../support/service.js";
import { describePairs } from "./databases.js";
import { hostileTables, hostileTypes, unnameable } from "./hostile.js";
import { legacyTables, legacyTypes } from "./legacy.js";
import { everything } from "./models.js";
import { typeErrors } from "./type-check.js";
import { importModels } from "./written-models.js";

/** The sources that the tests below have written, for the compiler. */
const written = new Map<string, string>();

/** A queryset of a model that the compiler has not seen. */
interface Rows {
  using(db: Database): Rows;
  create(values: object): Promise<object>;
  get(where: object): Promise<object>;
  values(...names: string[]): Promise<object[]>;
}

/** Reads a database, writes its models, makes their tables in another one and reads that. */
async function roundTrip(name: string, first: Database, second: Database, options?: IntrospectOptions) {
  const before = await introspect(first, options);
  const source = writeModels(before, { language: "ts" });
  written.set(name, source);
  const models = await importModels(source);
  await createTables(second, Object.values(models));
  return { before, models, after: await introspect(second, options) };
}

describePairs("models written from tables of models", service("postgres"), (first, second) => {
  it("Models written from tables of models describe the same tables", async () => {
    await createTables(first(), [...bookshop, ...everything]);
    const { before, after, models } = await roundTrip("own", first(), second(), { schemas: ["public", "shop"] });
    expect(after).toEqual(before);
    const wanted = stateOf(Object.values(models).map((model) => model.meta));
    expect(await databaseDrift(first(), wanted)).toEqual([]);
  });

  it("Models written from tables of models are readable code", async () => {
    const tables = [...bookshop.map((model) => model.meta.table), "books_tags"];
    const expected = await readFile(new URL("./fixtures/bookshop-models.ts", import.meta.url), "utf8");
    expect(writeModels(await introspect(first(), { tables }), { language: "ts" })).toBe(expected);
  });

  it("Models can be written as JavaScript", async () => {
    const state = await introspect(first(), { schemas: ["public", "shop"] });
    const models = await importModels(writeModels(state, { language: "js" }), "js");
    expect(await databaseDrift(first(), stateOf(Object.values(models).map((model) => model.meta)))).toEqual([]);
  });
});

describePairs("models written from a legacy schema", service("postgres"), (first, second) => {
  it("Models written from legacy tables describe the same tables, except for what no model can express", async () => {
    await first().script(legacyTypes + legacyTables);
    await second().script(legacyTypes);
    const { before, after, models } = await roundTrip("legacy", first(), second(), { schemas: ["public", "old"] });
    expect(compareStates(after, before)).toEqual([
      "table counters: column number is no identity, expected one",
      "table customers: index customers_pattern is missing: (name varchar_pattern_ops, secret text_pattern_ops)",
      "table customers: index customers_sorted is missing: (name desc nulls last, balance desc)",
      "table employees: is missing",
      "table no_key: is missing",
      "view active_customers: is missing",
      "view totals: is missing",
    ]);
    const source = written.get("legacy")!;
    expect(source).toContain('constraint: "who_sent"');
    for (const name of ["customers_pattern", "customers_sorted"]) {
      expect(source.split("\n").filter((line) => line.trim().startsWith("//") && line.includes(name))).toHaveLength(1);
    }
    expect(Object.keys(models)).toContain("Person");
    expect(models["Employee"]!.meta.managed).toBe(false);
    expect(models["ActiveCustomer"]!.meta).toMatchObject({ managed: false, view: { materialized: false } });
    expect(models["Total"]!.meta).toMatchObject({ managed: false, view: { materialized: true } });
  });

  it("Models written from legacy tables read and write rows", async () => {
    const models = await importModels(written.get("legacy")!);
    const objects = (name: string) => (models[name] as unknown as { objects: Rows }).objects.using(first());
    const customer = await objects("Customer").create({
      name: "Ada",
      mail: "ada@example.org",
      rating: 4.5,
      notes: { a: [1] },
      active: true,
      changed: new Date("2024-01-31T12:00:00Z"),
    });
    const product = await objects("Product").create({ sku: "p1", title: "Pen" });
    await objects("Account").create({ customer });
    await (customer as unknown as { favourites: { add(item: object): Promise<void> } }).favourites.add(product);
    const found = await objects("Customer").get({ favourites__sku: "p1", account__isnull: false });
    expect(found).toMatchObject({
      id: 1,
      initials: "abc",
      balance: "0",
      rating: 4.5,
      notes: { a: [1] },
      status: "new",
      history: [],
      fullName: "Ada abc",
      changed: new Date("2024-01-31T12:00:00Z"),
      created: expect.any(Date),
    });
    expect(await objects("ActiveCustomer").values("id", "name")).toEqual([{ id: 1, name: "Ada" }]);
  });
});

it("Of two foreign keys over the same columns, the written model has the first, and a comment tells of the other", () => {
  const integer = { type: "integer" };
  const target = { columns: { a: integer, b: integer }, primaryKey: ["a", "b"] };
  const key = (table: string) => ({ columns: ["a", "b"], table, references: ["a", "b"] });
  const keys = { parts_a_b_fkey: key("lines"), parts_a_b_fkey1: key("orders") };
  const parts = { columns: { id: integer, a: integer, b: integer }, primaryKey: ["id"], foreignKeys: keys };
  const source = writeModels({ ...emptyState, tables: { lines: target, orders: target, parts } }, { language: "ts" });
  expect(source.match(/compositeForeignKey/g)).toHaveLength(1);
  expect(source).toContain(
    "parts_a_b_fkey1 (a, b) references orders (a, b) is left out: the columns have another one.",
  );
});

describePairs("models written from a hostile schema", service("postgres"), (first, second) => {
  it("Models written from tables with hostile names make those tables again and run nothing else", async () => {
    await first().script(hostileTypes + hostileTables);
    await second().script(hostileTypes);
    const { before, after } = await roundTrip("hostile", first(), second());
    const x = "x".repeat(58);
    expect(compareStates(after, before)).toEqual([
      "enum unused is missing",
      expect.stringMatching(
        new RegExp(`^table ${x}x{5}: the primary key is named x+_[0-9a-f]{8}, expected ${x}_pkey$`),
      ),
      expect.stringMatching(/^table x{62}y: the primary key is named x+_[0-9a-f]{8}, expected x+_pkey1$/),
    ]);
  });

  it("Names that a model cannot have are left out of the written models, with a comment", async () => {
    await first().script(unnameable);
    const tables = ["controls", "new\nline", "only\u0001controls", "nothing"];
    const source = writeModels(await introspect(first(), { tables }), { language: "ts" });
    written.set("unnameable", source);
    const { Control, ...others } = await importModels(source);
    expect(others).toEqual({});
    expect(Control!.meta.columns.map((column) => column.column)).toEqual(["id", "odd", "oddly"]);
    expect(source.split("\n").filter((line) => line.startsWith("//"))).toEqual([
      '// "new\\nline" cannot be a model: its name has a character that cannot be seen.',
      "// nothing cannot be a model: it has no column that a model can name.",
      '// "only\\u0001controls" cannot be a model: its name has a character that cannot be seen.',
      '// The column "ta\\tb" of type text is left out: a model cannot name it.',
      '// The column "zero\\u{200b}width" of type integer is left out: a model cannot name it.',
      '// The foreign key "controls_zero\\u{200b}width_fkey" ("zero\\u{200b}width") references "new\\nline" (id) is left out: there is no model of its table.',
      '// The unique constraint "controls_ta\\tb_key" ("ta\\tb") is left out: a model cannot say it.',
      '// The index "newline\\npwned()" ("ta\\tb") is left out: a model cannot say it.',
    ]);
  });
});

it("The compiler accepts the written models", async () => {
  expect([...written.keys()]).toEqual(["own", "legacy", "hostile", "unnameable"]);
  const wrong =
    'import { field, Model } from "stoa/orm"; export class A extends Model("a", { id: field.int({ nul: 1 }) }) {}';
  const printed = await typeErrors(new Map([...written, ["wrong", wrong]]));
  expect(printed.split("\n").filter((line) => / error TS/.test(line))).toEqual([
    expect.stringMatching(/^wrong\.ts\(1,\d+\): error TS/),
  ]);
});

describe("writeModels", () => {
  const id = { columns: { id: { type: "integer", identity: true } }, primaryKey: ["id"] };
  const tables = (...names: string[]): SchemaState => ({
    ...emptyState,
    tables: Object.fromEntries(names.map((name) => [name, id])),
  });
  const classes = (source: string): string[] => [...source.matchAll(/^export class (\w+)/gm)].map(([, name]) => name!);

  it("Classes are named after one row of their table", () => {
    const state = tables(
      "books",
      "categories",
      "order_lines",
      "people",
      "addresses",
      "boxes",
      "news",
      "bus",
      "userData",
    );
    expect(classes(writeModels(state, { language: "ts" }))).toEqual([
      "Book",
      "Category",
      "OrderLine",
      "Person",
      "Address",
      "Box",
      "News",
      "Bus",
      "UserData",
    ]);
  });

  it("Names of classes and fields differ from each other and from reserved words", () => {
    const state = tables(
      "book",
      "books",
      "shop.books",
      "dates",
      "models",
      "1st",
      "日本",
      "constructor",
      "shop.constructor",
    );
    expect(classes(writeModels(state, { language: "ts" }))).toEqual([
      "Book",
      "BookModel",
      "ShopBook",
      "DateModel",
      "ModelModel",
      "Table1st",
      "Table",
      "Constructor",
      "ShopConstructor",
    ]);
  });

  it("The names of classes can be given", () => {
    const source = writeModels(tables("auth_user", "user"), { language: "js", names: { auth_user: "User" } });
    expect(classes(source)).toEqual(["User", "UserModel"]);
  });

  it("writeModels() refuses impossible names and unknown options", () => {
    const write = (options: object) => () => writeModels(tables("books"), options as { language: "ts" });
    expect(write({ language: "ts", names: { boks: "Book" } })).toThrow(
      "option 'names' in writeModels names the table boks, which is not there; did you mean 'books'?",
    );
    expect(write({ language: "ts", names: { books: "a; b" } })).toThrow('"a; b" cannot be the name of a class');
    expect(write({ language: "ts", names: { books: "Date" } })).toThrow("Date cannot be the name of a class");
    expect(write({ language: "ts", names: { books: 7 } })).toThrow("cannot be the name of a class");
    expect(write({ language: "py" })).toThrow('option \'language\' in writeModels must be one of "ts", "js"');
    expect(write({})).toThrow("option 'language' is required in writeModels");
    expect(write({ language: "ts", tables: [] })).toThrow("unknown option 'tables' in writeModels");
  });
});
