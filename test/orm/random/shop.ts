import { field, Model, softDelete } from "../../../src/entry/orm.js";

/** The models of the random comparisons, and what the SQL written by hand knows about their tables. */

export class City extends Model("cities", {
  id: field.auto(),
  name: field.text(),
  rank: field.int({ null: true }),
  get authors() {
    return field.reverse(() => Author, "city");
  },
}) {}

export class Author extends Model("authors", {
  id: field.auto(),
  name: field.text(),
  age: field.int({ null: true }),
  city: field.foreignKey(() => City, { null: true, onDelete: "set null" }),
  get mentor() {
    return field.foreignKey(() => Author, { null: true, onDelete: "set null" });
  },
  get books() {
    return field.reverse(() => Book, "author");
  },
  get pupils() {
    return field.reverse(() => Author, "mentor");
  },
}) {}

export class Tag extends Model("tags", {
  id: field.auto(),
  name: field.text({ unique: true }),
  weight: field.int({ null: true }),
  get books() {
    return field.reverse(() => Book, "tags");
  },
}) {}

export class Book extends Model(
  "books",
  {
    id: field.auto(),
    title: field.text({ unique: true }),
    pages: field.int({ null: true }),
    price: field.int({ default: 1 }),
    author: field.foreignKey(() => Author, { null: true }),
    tags: field.manyToMany(() => Tag),
    get notes() {
      return field.reverse(() => Note, "book");
    },
  },
  { ordering: ["title"] },
) {}

export class Note extends Model("notes", {
  id: field.auto(),
  text: field.text(),
  score: field.int({ null: true }),
  book: field.foreignKey(() => Book),
  ...softDelete(),
}) {}

export const models = [City, Author, Tag, Book, Note];

export type Type = "int" | "text" | "bool" | "float";

export interface Table {
  /** The rows, with columns named as in JavaScript. */
  readonly rows: string;
  readonly columns: Readonly<Record<string, Type>>;
  readonly one: Readonly<Record<string, { readonly to: string; readonly key: string }>>;
  /** Rows of the other table with the key of their owner in `"@owner"`. */
  readonly many: Readonly<Record<string, { readonly to: string; readonly rows: string }>>;
  readonly order: string | null;
}

const rows = {
  City: `select id, name, rank from cities`,
  Author: `select id, name, age, city_id as "cityId", mentor_id as "mentorId" from authors`,
  Tag: `select id, name, weight from tags`,
  Book: `select id, title, pages, price, author_id as "authorId" from books`,
  Note: `select id, text, score, book_id as "bookId" from notes where deleted_at is null`,
};

const owned = (to: keyof typeof rows, key: string) => ({
  to,
  rows: `select x.*, x."${key}" as "@owner" from (${rows[to]}) x`,
});

export const tables: Readonly<Record<string, Table>> = {
  City: {
    rows: rows.City,
    columns: { id: "int", name: "text", rank: "int" },
    one: {},
    many: { authors: owned("Author", "cityId") },
    order: null,
  },
  Author: {
    rows: rows.Author,
    columns: { id: "int", name: "text", age: "int", cityId: "int", mentorId: "int" },
    one: { city: { to: "City", key: "cityId" }, mentor: { to: "Author", key: "mentorId" } },
    many: { books: owned("Book", "authorId"), pupils: owned("Author", "mentorId") },
    order: null,
  },
  Tag: {
    rows: rows.Tag,
    columns: { id: "int", name: "text", weight: "int" },
    one: {},
    many: {
      books: {
        to: "Book",
        rows: `select x.*, j.tag_id as "@owner" from books_tags j join (${rows.Book}) x on x.id = j.book_id`,
      },
    },
    order: null,
  },
  Book: {
    rows: rows.Book,
    columns: { id: "int", title: "text", pages: "int", price: "int", authorId: "int" },
    one: { author: { to: "Author", key: "authorId" } },
    many: {
      tags: {
        to: "Tag",
        rows: `select x.*, j.book_id as "@owner" from books_tags j join (${rows.Tag}) x on x.id = j.tag_id`,
      },
      notes: owned("Note", "bookId"),
    },
    order: "title",
  },
  Note: {
    rows: rows.Note,
    columns: { id: "int", text: "text", score: "int", bookId: "int" },
    one: { book: { to: "Book", key: "bookId" } },
    many: {},
    order: null,
  },
};

/** Few values, so that rows are equal, null and without related rows often. */
export const contents = `
insert into cities (name, rank)
  select (array['oslo', 'rome', 'Rome', 'lima'])[i], nullif(i % 3, 0) from generate_series(1, 4) i;
insert into authors (name, age, city_id)
  select (array['ann', 'bo', 'Cy', 'bo', 'di', 'ed', 'ann', 'fay', 'gus'])[i], nullif((i * 7) % 5, 0), nullif((i * 3) % 5, 0)
  from generate_series(1, 9) i;
update authors set mentor_id = id / 2 where id > 1;
update authors set mentor_id = 9 where id = 4;
insert into tags (name, weight) select 'tag ' || i, nullif(i % 4, 0) from generate_series(1, 6) i;
insert into books (title, pages, price, author_id)
  select 'book ' || chr(97 + (i * 11) % 20), nullif((i * 3) % 6, 0), 1 + (i * 7) % 5, nullif((i * 5) % 9, 0)
  from generate_series(1, 20) i;
insert into books_tags (book_id, tag_id)
  select b, t from generate_series(1, 20) b, generate_series(1, 6) t where (b * t + b) % 7 < 2 and b % 6 > 0;
insert into notes (text, score, book_id, deleted_at)
  select 'note ' || i % 4, nullif(i % 5, 0), 1 + (i * 7) % 13, case when i % 4 = 0 then now() end
  from generate_series(1, 24) i;
analyze;
`;
