import { describe, expect, it } from "vitest";
import { field, Model, type ModelConstructor } from "../../src/entry/orm.js";
import { type Answers, detectChanges } from "../../src/migrations/autodetector.js";
import { emptyState, type SchemaState, type TableState } from "../../src/orm/schema/state.js";
import { desiredSchema, stateOf } from "../../src/orm/schema/state-of-models.js";

const id = { type: "integer", identity: true } as const;

function between(from: SchemaState, to: SchemaState, answers?: Record<string, boolean | string>) {
  const detected = detectChanges(from, { state: to }, answers && new Map(Object.entries(answers)));
  return { calls: detected.operations.map(({ source }) => source), keys: detected.questions.map(({ key }) => key) };
}

function state(tables: Record<string, TableState>, enums: SchemaState["enums"] = {}): SchemaState {
  return { tables, enums };
}

const books = (columns: TableState["columns"], rest: Partial<TableState> = {}): SchemaState =>
  state({ books: { columns: { id, ...columns }, primaryKey: ["id"], ...rest } });

describe("foreign keys over several columns", () => {
  class Line extends Model("lines", { shop: field.int(), number: field.int() }, { primaryKey: ["shop", "number"] }) {}
  const columns = { id: field.auto(), shop: field.int(), number: field.int({ null: true }) };
  const parcel = (setNull?: readonly ["number"]) =>
    class extends Model("parcels", {
      ...columns,
      line: field.compositeForeignKey(() => Line, ["shop", "number"], {
        null: true,
        ...(setNull ? { onDelete: "set null", setNull } : { onDelete: "restrict" }),
      }),
    }) {};
  const states = (...models: readonly ModelConstructor[]): SchemaState => stateOf(models.map(({ meta }) => meta));

  it("A foreign key over several columns is added with its index, changed, and dropped", () => {
    const [without, restricting, setting] = [
      states(Line, class extends Model("parcels", columns) {}),
      states(Line, parcel()),
      states(Line, parcel(["number"])),
    ];
    const key = { columns: ["shop", "number"], table: "lines", references: ["shop", "number"] };
    const name = "parcels_shop_number_fkey";
    const index = "parcels_shop_number_idx";
    expect(between(without, restricting).calls).toEqual([
      ["createIndex", "parcels", index, { on: ["shop", "number"] }],
      ["addForeignKey", "parcels", name, { ...key, onDelete: "restrict" }],
    ]);
    expect(between(restricting, setting).calls).toEqual([
      ["dropConstraint", "parcels", name],
      ["addForeignKey", "parcels", name, { ...key, onDelete: "set null", onDeleteColumns: ["number"] }],
    ]);
    expect(between(setting, without).calls.map(([call]) => call)).toEqual(["dropConstraint", "dropIndex"]);
    expect(between(setting, setting).calls).toEqual([]);
  });
});

describe("changes to models", () => {
  const detect = (old: readonly ModelConstructor[], models: readonly ModelConstructor[], answers?: Answers) =>
    detectChanges(
      stateOf(old.map(({ meta }) => meta)),
      desiredSchema(models.map(({ meta }) => meta)),
      answers,
    ).operations.map(({ source }) => source);

  class Author extends Model("authors", { id: field.auto(), name: field.text() }) {}
  class Book extends Model("books", {
    id: field.auto(),
    title: field.char({ maxLength: 100, index: true, check: "title <> ''" }),
    author: field.foreignKey(() => Author),
    readers: field.manyToMany(() => Author),
  }) {}

  it("Unchanged models give no operations", () => {
    expect(detect([Author, Book], [Author, Book])).toEqual([]);
  });

  it("A renamed model or field renames its table, columns, and everything that is named after them", () => {
    class Writer extends Model("writers", { id: field.auto(), name: field.text() }, { renamedFrom: "authors" }) {}
    class Novel extends Model(
      "novels",
      {
        id: field.auto(),
        name: field.char({ maxLength: 100, index: true, check: "name <> ''", renamedFrom: "title" }),
        writer: field.foreignKey(() => Writer, { renamedFrom: "author" }),
        readers: field.manyToMany(() => Writer),
      },
      { renamedFrom: "books" },
    ) {}
    const expected = [
      ["renameTable", "authors", "writers"],
      ["renameTable", "books", "novels"],
      ["renameTable", "books_readers", "novels_readers"],
      ["renameColumn", "novels", "title", "name"],
      ["renameColumn", "novels", "author_id", "writer_id"],
      ["renameColumn", "novels_readers", "book_id", "novel_id"],
      ["renameColumn", "novels_readers", "author_id", "writer_id"],
    ];
    expect(detect([Author, Book], [Writer, Novel])).toEqual(expected);
    expect(detect([Writer, Novel], [Writer, Novel])).toEqual([]);
  });

  it("A table can be renamed to a name that became free, and a new table can take the old one", () => {
    class Person extends Model("people", { id: field.auto(), name: field.text() }, { renamedFrom: "authors" }) {}
    class NewAuthor extends Model("authors", { id: field.auto(), pen: field.text() }, { renamedFrom: "writers" }) {}
    class Writer extends Model("writers", { id: field.auto(), pen: field.text() }) {}
    expect(detect([Author, Writer], [Person, NewAuthor])).toEqual([
      ["renameTable", "authors", "people"],
      ["renameTable", "writers", "authors"],
    ]);
    expect(detect([Author], [Person, NewAuthor]).map(([name]) => name)).toEqual(["renameTable", "createTable"]);
  });

  it("An exchange of two names is refused, because a later run could not see that it was done", () => {
    class Swapped extends Model("books", {
      id: field.auto(),
      first: field.text({ renamedFrom: "second" }),
      second: field.text({ renamedFrom: "first" }),
    }) {}
    class Before extends Model("books", { id: field.auto(), first: field.text(), second: field.text() }) {}
    expect(() => detect([Before], [Swapped])).toThrow("renamedFrom goes in a circle: first, from second, from first");
    class One extends Model("ones", { id: field.auto() }, { renamedFrom: "twos" }) {}
    class Two extends Model("twos", { id: field.auto() }, { renamedFrom: "ones" }) {}
    expect(() => detect([Two, One], [One, Two])).toThrow("renamedFrom goes in a circle: ones, from twos, from ones");
    class Same extends Model("sames", { id: field.auto(), x: field.text({ renamedFrom: "x" }) }) {}
    expect(detect([Same], [Same])).toEqual([]);
  });
});

describe("the order of changes", () => {
  it("Enums are made first, then tables after those they refer to, and the keys of a circle last", () => {
    const key = (table: string) => ({ columns: ["other"], table, references: ["id"] });
    const table = (to: string, type = "integer"): TableState => ({
      columns: { id, other: { type: "integer" }, kind: { type } },
      primaryKey: ["id"],
      foreignKeys: { [`to_${to}`]: key(to) },
    });
    const to = state({ a: table("b"), b: table("c", "mood"), c: table("b"), d: table("d") }, { mood: ["x"] });
    expect(
      between(emptyState, to).calls.map(([name, first, second]) => [
        name,
        first,
        typeof second === "string" ? second : "",
      ]),
    ).toEqual([
      ["createEnum", "mood", ""],
      ["createTable", "c", ""],
      ["createTable", "b", ""],
      ["createTable", "a", ""],
      ["createTable", "d", ""],
      ["addForeignKey", "c", "to_b"],
    ]);
    expect(between(to, emptyState).calls.map(([name, first, second]) => [name, first, second])).toEqual([
      ["dropConstraint", "c", "to_b"],
      ["dropTable", "d", undefined],
      ["dropTable", "a", undefined],
      ["dropTable", "b", undefined],
      ["dropTable", "c", undefined],
      ["dropEnum", "mood", undefined],
    ]);
  });

  it("A dropped column drops its constraints too, and a foreign key that is in the way is dropped separately", () => {
    const authors = (type: string): TableState => ({ columns: { id: { type } }, primaryKey: ["id"] });
    const lines = (type: string): TableState => ({
      columns: { author_id: { type } },
      foreignKeys: { lines_author_id_fkey: { columns: ["author_id"], table: "authors", references: ["id"] } },
      indexes: { lines_author_id_idx: { on: ["author_id"] } },
    });
    const from = state({ authors: authors("integer"), lines: lines("integer") });
    expect(between(from, state({ lines: { columns: {} } })).calls).toEqual([
      ["dropColumn", "lines", "author_id"],
      ["dropTable", "authors"],
    ]);
    expect(
      between(from, state({ authors: authors("uuid"), lines: lines("uuid") })).calls.map(([name]) => name),
    ).toEqual(["dropConstraint", "alterColumn", "alterColumn", "addForeignKey"]);
    expect(
      between(from, state({ authors: authors("bigint"), lines: lines("bigint") })).calls.map(([name]) => name),
    ).toEqual(["alterColumn", "alterColumn"]);
  });
});

describe("questions of the detector", () => {
  const title = books({ title: { type: "text" } });
  const name = books({ name: { type: "text" } });

  it("The detector asks if a column was renamed if one of the same type is gone and one is new", () => {
    expect(between(title, name)).toMatchObject({
      keys: ["renameColumn books title name", "fill books name", "fill books title"],
    });
    expect(between(title, name, { "renameColumn books title name": true })).toEqual({
      keys: [],
      calls: [["renameColumn", "books", "title", "name"]],
    });
    expect(between(title, name, { "renameColumn books title name": false, "fill books name": "'?'" })).toEqual({
      keys: ["fill books title"],
      calls: [
        ["addColumn", "books", "name", { type: "text" }, { fill: "'?'" }],
        ["dropColumn", "books", "title"],
      ],
    });
    expect(between(title, books({ name: { type: "integer", nullable: true } })).keys).toEqual(["fill books title"]);
  });

  it("The detector asks about several possible columns one by one", () => {
    const from = books({ a: { type: "text" }, b: { type: "text" } });
    const first = between(from, name);
    expect(first.keys).toEqual(["renameColumn books a name", "fill books name", "fill books a", "fill books b"]);
    expect(between(from, name, { "renameColumn books a name": false }).keys[0]).toBe("renameColumn books b name");
  });

  it("The detector asks if a table was renamed if most columns are the same", () => {
    const novels = state({ novels: { columns: { id, title: { type: "text" } }, primaryKey: ["id"] } });
    const { questions } = detectChanges(title, { state: novels });
    expect(questions).toEqual([
      {
        kind: "renameTable",
        from: "books",
        to: "novels",
        key: "renameTable books novels",
        text: "Was the table books renamed to novels?",
      },
    ]);
    expect(between(title, novels, { "renameTable books novels": true }).calls).toEqual([
      ["renameTable", "books", "novels"],
    ]);
    expect(
      between(title, state({ other: { columns: { id, x: { type: "date" }, y: { type: "date" } } } })).keys,
    ).toEqual([]);
  });

  it("The detector asks for a value for rows of a dropped required column, for the way back", () => {
    const { questions, operations } = detectChanges(title, { state: books({}) });
    expect(questions).toEqual([
      {
        kind: "fill",
        table: "books",
        column: "title",
        type: "text",
        reason: "dropped",
        key: "fill books title",
        text: "The column books.title (text) is dropped and must hold a value. What do rows get when the migration is undone?",
      },
    ]);
    expect(operations.map(({ source }) => source)).toEqual([["dropColumn", "books", "title"]]);
    expect(between(title, books({}), { "fill books title": "''" }).calls).toEqual([
      ["dropColumn", "books", "title", { fill: "''" }],
    ]);
    expect(between(books({ year: { type: "integer", nullable: true } }), books({})).keys).toEqual([]);
    expect(between(books({ year: { type: "integer", default: "0" } }), books({})).keys).toEqual([]);
  });

  it("The detector asks for a value for existing rows if one is needed", () => {
    const nullable = books({ title: { type: "text", nullable: true } });
    expect(between(nullable, title).keys).toEqual(["fill books title"]);
    expect(between(nullable, title, { "fill books title": "''" }).calls).toEqual([
      ["alterColumn", "books", "title", { nullable: false }, { fill: "''" }],
    ]);
    expect(between(nullable, title, { "fill books title": false }).calls).toEqual([
      ["alterColumn", "books", "title", { nullable: false }],
    ]);
    for (const column of [
      { type: "text", nullable: true },
      { type: "text", default: "''" },
      { type: "text", nullable: true, generated: "1" },
      id,
    ]) {
      expect(between(books({}), books({ x: column })).keys).toEqual([]);
    }
  });

  it("The detector asks if an enum or a value was renamed, and which value replaces a removed one", () => {
    const table = (type: string): Record<string, TableState> => ({ a: { columns: { x: { type } } } });
    const mood = state(table("mood"), { mood: ["sad", "glad"] });
    const feeling = state(table("feeling"), { feeling: ["sad", "glad"] });
    expect(between(mood, feeling).keys).toEqual(["renameEnum mood feeling"]);
    expect(between(mood, feeling, { "renameEnum mood feeling": true }).calls).toEqual([
      ["renameEnum", "mood", "feeling"],
    ]);
    const happy = state(table("mood"), { mood: ["sad", "happy"] });
    expect(between(mood, happy).keys).toEqual(["renameEnumValue mood glad happy", "replaceEnumValue mood glad"]);
    expect(between(mood, happy, { "renameEnumValue mood glad happy": true }).calls).toEqual([
      ["renameEnumValue", "mood", "glad", "happy"],
    ]);
    const answers = { "renameEnumValue mood glad happy": false, "replaceEnumValue mood glad": "sad" };
    expect(between(mood, happy, answers).calls).toEqual([
      ["alterEnum", "mood", ["sad", "happy"], { replace: { glad: "sad" } }],
    ]);
  });
});

describe("changes to enums", () => {
  const mood = (values: readonly string[], value?: string): SchemaState =>
    state({ a: { columns: { x: { type: "mood", ...(value && { default: `'${value}'::mood` }) } } } }, { mood: values });

  it("New values of an enum are added at their positions", () => {
    expect(between(mood(["b", "d"]), mood(["a", "b", "c", "d", "e"])).calls).toEqual([
      ["addEnumValue", "mood", "a", { before: "b" }],
      ["addEnumValue", "mood", "c", { before: "d" }],
      ["addEnumValue", "mood", "e"],
    ]);
  });

  it("An enum is made again if PostgreSQL could not use a new value at once", () => {
    expect(between(mood(["a"]), mood(["a", "new"], "new")).calls).toEqual([
      ["alterEnum", "mood", ["a", "new"]],
      ["alterColumn", "a", "x", { default: "'new'::mood" }],
    ]);
  });

  it("A default is removed before its enum value is", () => {
    expect(between(mood(["a", "old"], "old"), mood(["a"], "a"), { "replaceEnumValue mood old": "a" }).calls).toEqual([
      ["alterColumn", "a", "x", { default: null }],
      ["alterEnum", "mood", ["a"], { replace: { old: "a" } }],
      ["alterColumn", "a", "x", { default: "'a'::mood" }],
    ]);
  });
});

describe("changes to parts of a table", () => {
  it("A constraint or an index that only changed its name is renamed", () => {
    const from = books(
      { x: { type: "text" } },
      { checks: { a: "x > ''" }, indexes: { b: { on: ["x"] } }, primaryKeyName: "pk" },
    );
    const to = books({ x: { type: "text" } }, { checks: { c: "x > ''" }, indexes: { d: { on: ["x"] } } });
    expect(between(from, to).calls).toEqual([
      ["renameConstraint", "books", "pk", "books_pkey"],
      ["renameConstraint", "books", "a", "c"],
      ["renameIndex", "books", "b", "d"],
    ]);
  });

  it("The change of a column names only the differences", () => {
    const from = books({ x: { type: "text", default: "''", nullable: true, comment: "a" } });
    expect(between(from, books({ x: { type: "text", nullable: true, comment: "b" } })).calls).toEqual([
      ["alterColumn", "books", "x", { default: null, comment: "b" }],
    ]);
  });

  it("A column leaves the primary key before it becomes nullable", () => {
    const from = books({ x: { type: "text" } }, { primaryKey: ["id", "x"] });
    expect(between(from, books({ x: { type: "text", nullable: true } })).calls).toEqual([
      ["setPrimaryKey", "books", null],
      ["alterColumn", "books", "x", { nullable: true }],
      ["setPrimaryKey", "books", ["id"]],
    ]);
  });
});
