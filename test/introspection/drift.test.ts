import { describe, expect, it } from "vitest";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { createTables, field, Model, type ModelConstructor } from "../../src/entry/orm.js";
import { compareStates, databaseDrift, introspect, normalizeState } from "../../src/introspection/index.js";
import { emptyState, type SchemaState, type TableState } from "../../src/orm/schema/state.js";
import { stateOf } from "../../src/orm/schema/state-of-models.js";
import { makeDatabase } from "../engines/db/engines.js";
import { bookshop } from "../orm/bookshop.js";
import { describeDatabases } from "../orm/databases.js";
import { service } from "../support/service.js";
import { everything } from "./models.js";

const metas = (models: readonly ModelConstructor[]) => models.map((model) => model.meta);
const wanted = (): SchemaState => stateOf(metas([...bookshop, ...everything]));

describeDatabases("databaseDrift", service("postgres"), [...bookshop, ...everything], (db) => {
  /** The drift while some statements hold. */
  async function driftAfter(sql: string, state = wanted(), options?: { exclude?: string[]; unexpected?: boolean }) {
    const undo = new Error("undo");
    let lines: string[] = [];
    await db()
      .transaction(async (tx) => {
        await tx.script(sql);
        lines = await databaseDrift(tx, state, options);
        throw undo;
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error;
      });
    return lines;
  }

  it("The tables of createTables() have no drift, however PostgreSQL words their definitions", async () => {
    expect(await databaseDrift(db(), wanted())).toEqual([]);
  });

  it("Drift lists the differences of columns", async () => {
    const lines = await driftAfter(`
      alter table books alter year type text, alter year set not null, alter title drop not null;
      alter table books alter stock set default 1, alter price drop default, add extra date;
      alter table books drop published;
      alter table countries alter id drop identity;
      alter table kinds alter "CODE" type varchar(10) collate "C";
      comment on column books.year is E'when\\n';
      comment on table books is 'All books';
      alter table everything drop twice, add twice integer generated always as (count * 3) stored;
    `);
    expect(lines).toEqual([
      "table countries: column id is no identity, expected one",
      "table books: column title allows null, expected not null",
      "table books: column year is text, expected integer",
      "table books: column year is not null, expected to allow null",
      "table books: column year has the comment when\\u{a}, expected none",
      "table books: column price has no default, expected 0",
      "table books: column stock has the default 1, expected 0",
      "table books: column published is missing",
      "table books: column extra is not expected",
      "table books: has the comment All books, expected none",
      "table everything: column twice has the generating expression count * 3, expected count * 2",
      'table everything: column twice has no comment, expected twice `the` "count"\\u{a}*/ $\u{7b}count}',
      "table kinds: column CODE has the collation C, expected none",
    ]);
  });

  it("Drift lists the differences of keys, constraints and indexes", async () => {
    const lines = await driftAfter(`
      alter table books drop constraint books_stock_check, add constraint books_stock_check check (stock > 0);
      alter table books drop constraint books_author_id_title_key, add unique (title, author_id);
      alter table books drop constraint books_author_id_fkey, add foreign key (author_id) references authors on delete restrict;
      alter table authors rename constraint authors_mentor_id_fkey to led_by;
      drop index books_year_title_idx;
      drop index books_lower_title_idx;
      create index books_lower_title_idx on books (lower(title)) where year > 0;
      create unique index surprise on books using btree (year desc nulls last) include (title);
      alter table tags drop constraint tags_pkey cascade;
      alter table tags add constraint tags_pkey primary key (id, name);
      alter table notes rename constraint notes_pkey to notes_key;
    `);
    expect(lines).toEqual([
      "table authors: foreign key led_by has this name, expected authors_mentor_id_fkey",
      "table tags: the primary key is (id, name), expected (id)",
      "table books: unique constraint books_author_id_title_key is missing: (author_id, title)",
      "table books: unique constraint books_title_author_id_key is not expected: (title, author_id)",
      "table books: foreign key books_author_id_fkey is (author_id) references authors (id) on delete restrict, expected (author_id) references authors (id) on delete cascade",
      "table books: check books_stock_check is stock > 0, expected stock >= 0",
      "table books: index books_lower_title_idx is (lower((title)::text)) where year > 0, expected (lower((title)::text))",
      "table books: index books_year_title_idx is missing: (year, title)",
      "table books: index surprise is not expected: unique (year desc nulls last) include (title)",
      "table books_tags: foreign key books_tags_tag_id_fkey is missing: (tag_id) references tags (id) on delete cascade",
    ]);
  });

  it("Drift lists missing and unexpected tables and enums, and can leave out the unexpected ones", async () => {
    const sql = `
      drop table books_tags;
      drop table notes;
      create view notes as select 1 as id;
      create table "surp\nrise" (id integer);
      create type moods as enum ('a');
      alter type mood rename value 'sad' to 'sorry';
    `;
    const expected = [
      "table notes: is a view, expected a table",
      'enum mood has the values sorry, "so so", "glad\'s", expected sad, "so so", "glad\'s"',
      "table books_tags: is missing",
    ];
    expect(await driftAfter(sql, wanted(), { unexpected: false })).toEqual(expected);
    const [view, mood, join] = expected;
    expect(await driftAfter(sql)).toEqual([
      view,
      mood,
      "enum moods is not expected",
      join,
      'table "surp\\nrise": is not expected',
    ]);
    const excluded = await driftAfter(sql, wanted(), { exclude: ["public.notes", "books_tags", "surp\nrise"] });
    expect(excluded).toEqual([mood, "enum moods is not expected"]);
    expect(await driftAfter("drop schema shop cascade", stateOf(metas(everything)), { unexpected: false })).toEqual([
      "table shop.orders: is missing",
      "table shop.lines: is missing",
      "table shop.parcels: is missing",
      "table shop.seals: is missing",
    ]);
  });

  it("A schema of the search path can be named explicitly", async () => {
    const { tables, enums } = wanted();
    const named = Object.entries(tables).map(([name, table]): [string, TableState] => {
      const foreignKeys = Object.entries(table.foreignKeys ?? {}).map(([key, state]) => [
        key,
        { ...state, table: state.table.includes(".") ? state.table : `public.${state.table}` },
      ]);
      return [name.includes(".") ? name : `public.${name}`, { ...table, foreignKeys: Object.fromEntries(foreignKeys) }];
    });
    expect(await databaseDrift(db(), { tables: Object.fromEntries(named), enums })).toEqual([]);
  });

  it("Drift lists expected objects that this database cannot make, beside the differences", async () => {
    const state: SchemaState = {
      enums: { twice: ["a", "a"] },
      tables: {
        countries: {
          columns: { id: { type: "integer", identity: true }, code: { type: "missing_type" } },
          primaryKey: ["id"],
        },
        tags: {
          ...wanted().tables["tags"]!,
          indexes: { odd: { on: [{ expression: "no_such_function(name)" }] } },
        },
        nowhere: { columns: { id: { type: "missing_type" } } },
      },
    };
    const lines = await databaseDrift(db(), state, { unexpected: false });
    expect(lines.slice(0, 5)).toEqual([
      expect.stringMatching(/^enum twice cannot be made as it is expected: duplicate key/),
      'table countries: it cannot be made as it is expected: type "missing_type" does not exist',
      expect.stringMatching(
        /^table tags: index odd cannot be made as it is expected: function no_such_function\(.*\) does not exist$/,
      ),
      "enum twice is missing",
      "table countries: column code is varchar(2), expected missing_type",
    ]);
    expect(lines.at(-1)).toBe("table nowhere: is missing");
    await expect(normalizeState(state, db())).rejects.toThrow('type "missing_type" does not exist');
    await expect(databaseDrift(db(), state, { tables: [] } as object)).rejects.toThrow(
      "unknown option 'tables' in databaseDrift",
    );
  });

  it("The drift check leaves no schema in the database, and its transaction unchanged", async () => {
    const schemas = "select count(*)::int from pg_namespace";
    const before = await db().fetchval(schemas);
    await db().transaction(async (tx) => {
      const path = await tx.fetchval("show search_path");
      await databaseDrift(tx, wanted());
      expect(await tx.fetchval("show search_path")).toBe(path);
      expect(await tx.fetchval(schemas)).toBe(before);
    });
    expect(await db().fetchval(schemas)).toBe(before);
  });

  it("The drift check runs one statement at a time, so that none can end the transaction", async () => {
    const state: SchemaState = {
      ...emptyState,
      tables: { evil: { columns: { id: { type: "integer", default: "1); commit; drop table notes; --" } } } },
    };
    await expect(normalizeState(state, db())).rejects.toThrow("table evil: it cannot be made as it is expected");
    expect((await introspect(db(), { tables: ["notes"] })).tables["notes"]).toBeDefined();
  });
});

describe.skipIf(!service("postgres"))("normalizeState on a server", () => {
  it("normalizeState() does not wait for locks on the real tables", async () => {
    class Lockable extends Model("lockables", {
      id: field.auto(),
      get parent() {
        return field.foreignKey(() => Lockable, { null: true, default: 1 });
      },
    }) {}
    const { url, drop } = await makeDatabase(service("postgres")!);
    const db = await openDatabase({ url, poolSize: 2 });
    try {
      await createTables(db, [Lockable]);
      await db.transaction(async (tx) => {
        await tx.execute("lock table lockables in access exclusive mode");
        const state = stateOf(metas([Lockable]));
        const normal = await db.session((other) => normalizeState(state, other));
        expect(compareStates(normal, state)).toEqual([]);
      });
    } finally {
      await db.close();
      await drop();
    }
  });
});
