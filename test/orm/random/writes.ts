/** Random writes: each as a call of the ORM and as statements written by hand. */

import { groupBy } from "../../../src/engines/messaging/group-by.js";
import { type Rows, writableChain } from "./chains.js";
import { alias, literal, lookups, quoted, sqlOf, tableOf, type Value, value } from "./conditions.js";
import type { Random } from "./seeded.js";

export interface Write {
  readonly code: string;
  /** The last one returns what the call returns, as `result`. */
  readonly statements: readonly string[];
}

const sqlNames: Readonly<Record<string, string>> = { Book: "books", Author: "authors", Tag: "tags", Note: "notes" };
const sqlColumn = (name: string): string => name.replace(/Id$/, "_id");
const counting = (statement: string): string =>
  `with w as (${statement} returning 1) select count(*)::int as result from w`;

/** Columns that writes set. */
const writable: Readonly<Record<string, readonly string[]>> = {
  Book: ["pages", "price", "title", "authorId"],
  Author: ["name", "age", "cityId", "mentorId"],
  Tag: ["name", "weight"],
};
const nullable = ["pages", "authorId", "age", "cityId", "mentorId", "weight"];

function someValue(random: Random, column: string, type: string): unknown {
  if (nullable.includes(column) && random.chance(0.2)) return null;
  // A key that may not exist, rarely.
  if (column.endsWith("Id")) return random.chance(0.05) ? 99 : random.int(1, 4);
  return type === "text"
    ? `${random.pick(["book", "tag", "new"])} ${random.pick(["a", "c", "3", "x", "y"])}`
    : literal(random, "int");
}

/** Values for some columns, always those that are required. */
function someRow(random: Random, model: string): Record<string, unknown> {
  const { columns } = tableOf(model);
  const [required] = { Book: ["title"], Author: ["name"], Tag: ["name"] }[model]!;
  const names = [required!, ...writable[model]!.filter((name) => name !== required && random.chance(0.5))];
  return Object.fromEntries(names.map((name) => [name, someValue(random, name, columns[name]!)]));
}

const columnsOf = (row: object): string => Object.keys(row).map(sqlColumn).join(", ");
const valuesOf = (row: object): string => Object.values(row).map(sqlOf).join(", ");
const insert = (model: string, row: object): string =>
  `insert into ${sqlNames[model]} (${columnsOf(row)}) values (${valuesOf(row)})`;

/** Rows with the same columns are inserted together: their numbers follow one another. */
function byColumns<T extends object>(rows: readonly T[]): T[] {
  return [...groupBy(rows, (row) => Object.keys(row).toSorted().join()).values()].flat();
}

const result = (sql: string): string => `select ${sql} as result`;

type Maker = (random: Random) => Write | null;

const update: Maker = (random) => {
  const rows = writableChain(random, 4);
  const columns = random.some(writable[rows.model]!, 2);
  const t = alias();
  const set = columns.map((column) => {
    const type = tableOf(rows.model).columns[column]!;
    const given = someValue(random, column, type);
    const plain: Value = { type, code: JSON.stringify(given), sql: () => `${sqlOf(given)}::${type}` };
    if (column.endsWith("Id") || random.chance(0.4)) return { column, made: plain };
    const made = value(random, rows);
    return { column, made: made.type === type ? made : plain };
  });
  const list = set.map(({ column, made }) => `(${made.sql(t)}) as ${quoted(column)}`).join(", ");
  const assigned = set.map(({ column }) => `${sqlColumn(column)} = e.${quoted(column)}`).join(", ");
  const types = set.map(({ column, made }) => `${column}: ${made.code}`).join(", ");
  return {
    code: `${rows.code}.update({ ${types} })`,
    statements: [
      counting(
        `update ${sqlNames[rows.model]} u set ${assigned} from (select ${t}.id, ${list} from (${rows.sql}) ${t}) e where u.id = e.id`,
      ),
    ],
  };
};

const remove: Maker = (random) => {
  const rows = writableChain(random, 4);
  const statement = `delete from ${sqlNames[rows.model]} where id in (select d.id from (${rows.sql}) d)`;
  if (random.chance(0.5)) return { code: `${rows.code}.delete()`, statements: [counting(statement)] };
  return {
    code: `${rows.code}.delete().returning("id").then((rows) => rows.map(({ id }) => id).sort())`,
    statements: [
      `with w as (${statement} returning id) select coalesce(jsonb_agg(id order by id::text), '[]') as result from w`,
    ],
  };
};

const create: Maker = (random) => {
  const model = random.pick(["Book", "Author", "Tag"]);
  const row = someRow(random, model);
  return {
    code: `${model}.objects.create(${JSON.stringify(row)}).then((row) => row.id > 0)`,
    statements: [insert(model, row), result("true")],
  };
};

const createNested: Maker = (random) => {
  const author = { ...someRow(random, "Author"), name: "nested author" };
  const books = Array.from({ length: random.int(0, 3) }, (_, index) => {
    const { authorId: _author, ...book } = someRow(random, "Book");
    const title = random.chance(0.9) ? `nested ${index}` : "book a";
    const tags = random.some([1, 2, 3, "tag new", "tag newer"], 3);
    return { book: { ...book, title }, tags: random.chance(0.6) ? tags : [] };
  });
  const fresh = new Set<string>();
  // A tag that is new in two books would be there twice.
  for (const { tags } of books)
    for (let at = tags.length - 1; at >= 0; at--) {
      const tag = tags[at];
      if (typeof tag !== "string") continue;
      if (fresh.has(tag)) tags.splice(at, 1);
      fresh.add(tag);
    }
  const parts = books.map(({ book, tags }) => ({
    ...book,
    ...(tags.length > 0 ? { tags: tags.map((tag) => (typeof tag === "string" ? { name: tag } : tag)) } : {}),
  }));
  const given = books.length > 0 ? { ...author, books: parts } : author;
  const authorId = "(select max(id) from authors)";
  return {
    code: `Author.objects.create(${JSON.stringify(given)}).then((row) => row.name)`,
    statements: [
      insert("Author", author),
      ...byColumns(books.map(({ book }) => book)).map(
        (book) => `insert into books (${columnsOf(book)}, author_id) values (${valuesOf(book)}, ${authorId})`,
      ),
      ...books.flatMap(({ book, tags }) =>
        tags.flatMap((tag) => [
          ...(typeof tag === "string" ? [insert("Tag", { name: tag })] : []),
          `insert into books_tags (book_id, tag_id) values ((select id from books where title = ${sqlOf(book.title)}), ` +
            `${typeof tag === "string" ? `(select id from tags where name = ${sqlOf(tag)})` : tag})`,
        ]),
      ),
      result("'nested author'::text"),
    ],
  };
};

const bulkCreate: Maker = (random) => {
  const model = random.pick(["Book", "Tag"]);
  const key = model === "Book" ? "title" : "name";
  const number = model === "Book" ? "pages" : "weight";
  const rows = new Map<unknown, Record<string, unknown>>();
  for (let left = random.int(0, 4); left > 0; left--) {
    const row = { ...someRow(random, model), [number]: random.int(0, 5) };
    rows.set((row as Record<string, unknown>)[key], row);
  }
  const list = [...rows.values()];
  const call = `${model}.objects.bulkCreate(${JSON.stringify(list)}`;
  const onConflict = random.pick(["none", "ignore", "update", "expression"] as const);
  const statements = (tail: (row: object) => string): string[] =>
    byColumns(list).map((row) => insert(model, row) + tail(row));
  const table = sqlNames[model]!;
  switch (onConflict) {
    case "none":
      return {
        code: `${call}).then((rows) => rows.length)`,
        statements: [...statements(() => ""), result(`${list.length}`)],
      };
    case "ignore":
      return {
        code: `${call}, { onConflict: "ignore" }).then(() => true)`,
        statements: [...statements(() => " on conflict do nothing"), result("true")],
      };
    case "update": {
      const others = (row: object): string[] =>
        Object.keys(row)
          .filter((name) => name !== key)
          .map(sqlColumn);
      return {
        code: `${call}, { onConflict: "update", conflictFields: ["${key}"] }).then((rows) => rows.length)`,
        statements: [
          ...statements(
            (row) =>
              ` on conflict (${key}) do update set ${others(row)
                .map((name) => `${name} = excluded.${name}`)
                .join(", ")}`,
          ),
          result(`${list.length}`),
        ],
      };
    }
    case "expression": {
      const most = random.int(0, 5);
      return {
        code:
          `${call}, { onConflict: "update", conflictFields: ["${key}"], ` +
          `update: { ${number}: F("${number}").plus(excluded("${number}")) }, conflictWhere: { ${number}__lte: ${most} } }).then(() => true)`,
        statements: [
          ...statements(
            () =>
              ` on conflict (${key}) do update set ${number} = ${table}.${number} + excluded.${number} where ${table}.${number} <= ${most}`,
          ),
          result("true"),
        ],
      };
    }
  }
};

const save: Maker = (random) => {
  const model = random.pick(["Book", "Author", "Tag"]);
  const id = random.int(1, 7);
  const row = someRow(random, model);
  const [one, two] = [Object.entries(row)[0]!, Object.entries(row).at(-1)!];
  const set = [...new Map([one, two])];
  const assigned = set.map(([name, given]) => `row.${name} = ${JSON.stringify(given)}`).join("; ");
  const sql = set.map(([name, given]) => `${sqlColumn(name)} = ${sqlOf(given)}`).join(", ");
  return {
    code: `${model}.objects.getOrNull({ id: ${id} }).then(async (row) => { if (row === null) return false; ${assigned}; await row.save(); return true; })`,
    statements: [
      `with w as (update ${sqlNames[model]} set ${sql} where id = ${id} returning 1) select exists (select 1 from w) as result`,
    ],
  };
};

const removeOne: Maker = (random) => {
  const model = random.pick(["Book", "Author", "Tag"]);
  const id = random.int(1, 7);
  return {
    code: `${model}.objects.getOrNull({ id: ${id} }).then(async (row) => { await row?.delete(); return row !== null; })`,
    statements: [
      `with w as (delete from ${sqlNames[model]} where id = ${id} returning 1) select exists (select 1 from w) as result`,
    ],
  };
};

const bulkUpdate: Maker = (random) => {
  const rows = writableChain(random, 3);
  const [column, by] = ({ Book: ["pages", "price"], Author: ["age", "id"], Tag: ["weight", "id"] } as const)[
    rows.model as "Book"
  ]!;
  const more = random.int(1, 5);
  const changed = `for (const row of rows) row.${column} = row.${by} + ${more};`;
  return {
    code: `${rows.code}.then(async (rows) => { ${changed} return ${rows.model}.objects.bulkUpdate(rows, ["${column}"]); })`,
    statements: [
      counting(
        `update ${sqlNames[rows.model]} u set ${column} = u.${by} + ${more} where u.id in (select c.id from (${rows.sql}) c)`,
      ),
    ],
  };
};

const getOrCreate: Maker = (random) => {
  const name = random.pick(["tag 1", "tag 4", "tag c", "tag other"]);
  const weight = random.int(0, 5);
  return {
    code: `Tag.objects.getOrCreate({ name: "${name}" }, { weight: ${weight} }).then(([row, created]) => created)`,
    statements: [
      `with w as (insert into tags (name, weight) select '${name}', ${weight} where not exists (select from tags where name = '${name}') ` +
        "returning 1) select exists (select 1 from w) as result",
    ],
  };
};

const updateOrCreate: Maker = (random) => {
  const title = random.pick(["book a", "book c", "book other"]);
  const [pages, price] = [random.int(0, 5), random.int(6, 9)];
  const same = `title = '${title}'`;
  return {
    code: `Book.objects.updateOrCreate({ title: "${title}" }, { pages: ${pages} }, { price: ${price} }).then(([row, created]) => created)`,
    statements: [
      `with u as (update books set pages = ${pages} where ${same} returning 1), i as (insert into books (title, pages, price) ` +
        `select '${title}', ${pages}, ${price} where not exists (select from books where ${same}) returning 1) ` +
        "select exists (select 1 from i) as result",
    ],
  };
};

const joinTable: Maker = (random) => {
  const id = random.int(1, 8);
  const tags = random.some([1, 2, 3, 4, 5], 3);
  const list = tags.join(", ");
  const add = `insert into books_tags (book_id, tag_id) select b.id, t from books b, unnest(array[${list}]) t where b.id = ${id} on conflict do nothing`;
  const drop = (where: string): string => `delete from books_tags where book_id = ${id}${where}`;
  const [call, statements] = random.pick([
    [`add(${list})`, [add]],
    [`remove(${list})`, [drop(` and tag_id in (${list})`)]],
    [`set([${list}])`, [drop(` and tag_id not in (${list})`), add]],
    ["clear()", [drop("")]],
  ] as const);
  return {
    code: `Book.objects.getOrNull({ id: ${id} }).then(async (row) => { await row?.related("tags").${call}; return row !== null; })`,
    statements: [...statements, result(`exists (select 1 from books where id = ${id})`)],
  };
};

const softDeletes: Maker = (random) => {
  const { code, sql } = lookups(random, { table: "Note", columns: tableOf("Note").columns });
  const at = "c";
  const from = (mark: string): string =>
    `select n.id from (select id, text, score, book_id as "bookId", deleted_at from notes) n, lateral (select n.*) ${at} where n.deleted_at ${mark} and (${sql(at)})`;
  const [call, statement] = random.pick([
    ["delete()", `update notes set deleted_at = now() where id in (${from("is null")})`],
    ["hardDelete()", `delete from notes where id in (${from("is null")})`],
    ["restore()", `update notes set deleted_at = null where id in (${from("is not null")})`],
  ] as const);
  return { code: `Note.objects.filter(${code}).${call}`, statements: [counting(statement)] };
};

const makers: readonly Maker[] = [
  update,
  update,
  update,
  remove,
  create,
  createNested,
  createNested,
  bulkCreate,
  bulkCreate,
  save,
  removeOne,
  bulkUpdate,
  getOrCreate,
  updateOrCreate,
  joinTable,
  softDeletes,
];

export function writes(random: Random): Write[] {
  return Array.from({ length: random.int(1, 4) }, () => random.pick(makers)(random)).filter((made) => made !== null);
}

/** All rows. New ones have no number here: they are known by their names. */
const key = (table: string, id: string): string =>
  `case when ${id} < 100 then ${id}::text else (select k.${table === "books" ? "title" : "name"} from ${table} k where k.id = ${id}) end`;

export const everything = `
select jsonb_build_object(
  'authors', (select jsonb_agg(jsonb_build_array(${key("authors", "a.id")}, name, age, city_id, ${key("authors", "a.mentor_id")}) order by a.id < 100, name, a::text) from authors a),
  'books', (select jsonb_agg(jsonb_build_array(${key("books", "b.id")}, title, pages, price, ${key("authors", "b.author_id")}) order by title) from books b),
  'tags', (select jsonb_agg(jsonb_build_array(${key("tags", "t.id")}, name, weight) order by name) from tags t),
  'joined', (select jsonb_agg(distinct jsonb_build_array(${key("books", "j.book_id")}, ${key("tags", "j.tag_id")})) from books_tags j),
  'notes', (select jsonb_agg(jsonb_build_array(n.id, text, score, ${key("books", "n.book_id")}, deleted_at is null) order by n.id) from notes n)
) as all_rows`;

export type { Rows };
