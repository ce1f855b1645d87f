import { beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { NotNullViolation, ParameterTypeError, UniqueViolation } from "../../src/engines/db/errors.js";
import type { PoolDatabase } from "../../src/engines/db/pool/pool-database.js";
import { FieldError } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Country, Tag } from "./bookshop.js";
import { describeDatabases, truncate } from "./databases.js";

describeDatabases("nested writes", service("postgres"), bookshop, (db) => {
  beforeEach(() => truncate(db(), bookshop));

  it("create() inserts a row with its related rows of every kind", async () => {
    const sf = await Tag.objects.create({ name: "sf" });
    const author = await Author.objects.create({
      name: "Ursula K. Le Guin",
      country: { code: "us", name: "United States" },
      profile: { bio: "Earthsea" },
      books: [
        { title: "Lavinia", year: 2008, tags: [sf, { name: "myth" }] },
        { title: "The Dispossessed", year: 1974, tags: [sf.id] },
        { title: "The Telling" },
      ],
    });
    expect(author.id).toBe(1);
    const [read] = await Author.objects
      .selectRelated("country", "profile")
      .prefetchRelated("books__tags")
      .orderBy("id");
    expect([read!.country?.code, read!.profile?.bio]).toEqual(["us", "Earthsea"]);
    const books = read!.books.map((book) => [book.title, book.tags.map((tag) => tag.name).sort()]);
    expect(books.sort()).toEqual([
      ["Lavinia", ["myth", "sf"]],
      ["The Dispossessed", ["sf"]],
      ["The Telling", []],
    ]);
  });

  it("The related rows of a created row are loaded, and are part of its JSON", async () => {
    const author = await Author.objects.create({ name: "Iain Banks", books: [{ title: "Matter" }], profile: null });
    expect(await author.books).toBe(await author.books);
    expect(JSON.parse(JSON.stringify(author))).toMatchObject({
      name: "Iain Banks",
      profile: null,
      books: [{ title: "Matter", authorId: author.id }],
    });
    const book = await Book.objects.create({ title: "Kindred", author: { name: "Octavia Butler" } });
    expect(JSON.parse(JSON.stringify(book))).toMatchObject({ author: { name: "Octavia Butler" } });
  });

  it("One INSERT is sent for each level, whatever the number of rows", async () => {
    const sent = counting(db());
    await Author.objects.bulkCreate(
      Array.from({ length: 20 }, (_, author) => ({
        name: `author ${author}`,
        books: Array.from({ length: 10 }, (_, book) => ({
          title: `book ${book}`,
          year: 2000,
          tags: [{ name: `tag ${author} ${book}` }],
        })),
      })),
    );
    // One each for authors, books, tags and the join table.
    expect(sent.count).toBe(4);
    expect([await Author.objects.count(), await Book.objects.count(), await Tag.objects.count()]).toEqual([
      20, 200, 200,
    ]);
    expect(await Book.objects.filter({ tags__name: "tag 3 4" }).flat("author__name")).toEqual(["author 3"]);
  });

  it("Existing rows that are given as instances are moved to the new row", async () => {
    const old = await Author.objects.create({ name: "old", books: [{ title: "one" }, { title: "two" }] });
    const [one] = await old.books;
    const next = await Author.objects.create({ name: "new", books: [one!, new Book({ title: "three" })] });
    expect(await Book.objects.filter({ author: next }).orderBy("title").flat("title")).toEqual(["one", "three"]);
    expect(one!.authorId).toBe(next.id);
    const tag = new Tag({ name: "unsaved" });
    const book = await Book.objects.create({ title: "four", author: next, tags: [tag] });
    expect(await book.tags.flat("name")).toEqual(["unsaved"]);
  });

  it("Nothing is written if one of the related rows fails, inside a transaction too", async () => {
    const broken = { name: "x", books: [{ title: "same" }, { title: "same" }] };
    await expect(Author.objects.create(broken)).rejects.toThrow(UniqueViolation);
    expect(await Author.objects.count()).toBe(0);
    await db().transaction(async () => {
      await Author.objects.create({ name: "kept" });
      await expect(Author.objects.create(broken)).rejects.toThrow(UniqueViolation);
    });
    expect(await Author.objects.flat("name")).toEqual(["kept"]);
  });

  it("The instances can be saved after the transaction that created them", async () => {
    const author = await Author.objects.create({ name: "a", books: [{ title: "b" }] });
    const [book] = await author.books;
    book!.title = "c";
    await book!.save();
    expect(await Book.objects.flat("title")).toEqual(["c"]);
  });

  it("Hooks run for each row, the last ones when all rows are there", async () => {
    const seen: string[] = [];
    const stop = [
      Book.on("beforeSave", (book) => {
        book.title = book.title.trim();
      }),
      Author.on("afterSave", async (author) => seen.push(`${author.name} ${await Book.objects.count()}`)),
      Book.on("afterSave", (book) => seen.push(book.title)),
    ];
    await Author.objects.create({ name: "a", books: [{ title: " b " }, { title: " c " }] });
    for (const each of stop) each();
    expect(seen).toEqual(["a 2", "b", "c"]);
  });

  describe("Errors of nested writes", () => {
    const cases: readonly [name: string, values: object, type: new (...args: never[]) => Error, message: RegExp][] = [
      [
        "a value of the wrong type",
        { books: [{ title: "a" }, { title: 5 }] },
        ParameterTypeError,
        /^books\[1\]\.title: /,
      ],
      ["a missing value", { books: [{ title: "a" }, { year: 5 }] }, NotNullViolation, /^books\[1\]\.title: /],
      [
        "an unknown field",
        { books: [{ title: "a", tags: [{ nmae: "x" }] }] },
        FieldError,
        /^books\[0\]\.tags\[0\]: Tag has no field "nmae"/,
      ],
      ["a duplicate", { books: [{ title: "a" }, { title: "a" }] }, UniqueViolation, /^books: /],
      ["a value that is no list", { books: { title: "a" } }, FieldError, /^books leads to many rows/],
      [
        "a key in place of a row",
        { books: [3] },
        FieldError,
        /^books\[0\] takes the values of a new Book, an instance of it$/,
      ],
      [
        "a key of the wrong type",
        { books: [{ title: "a", tags: ["x"] }] },
        ParameterTypeError,
        /^books\[0\]\.tags\[0\]: /,
      ],
      [
        "a foreign key that is set already",
        { books: [{ title: "a", author: 1 }] },
        FieldError,
        /^books\[0\]\.author is set by Author\.books/,
      ],
      ["a null in a list", { books: [null] }, FieldError, /^books\[0\] takes/],
      ["an unknown relation", { boks: [] }, FieldError, /no field "boks"; did you mean/],
    ];

    it.each(cases)("An error names the place of %s", async (_, values, type, message) => {
      const error = await Author.objects.create({ name: "x", ...values } as never).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(type);
      expect((error as Error).message).toMatch(message);
      expect(await Author.objects.count()).toBe(0);
    });

    it("An instance of another model is refused by its place", async () => {
      const country = await Country.objects.create({ code: "fr", name: "France" });
      await expect(Author.objects.create({ name: "x", books: [country as never] })).rejects.toThrow(
        "books[0] takes a Book, not an instance of Country",
      );
    });

    it("Values that contain themselves are refused", async () => {
      const values: { name: string; mentor?: unknown } = { name: "x" };
      values.mentor = values;
      await expect(Author.objects.create(values as never)).rejects.toThrow(/20 levels deep at most/);
    });

    it("Rows of a bulk write are named by their index", async () => {
      const rows = [{ name: "a" }, { name: "b", books: [{ title: 1 }] }];
      await expect(Author.objects.bulkCreate(rows as never)).rejects.toThrow(/^\[1\]\.books\[0\]\.title: /);
      const twice = [1, 2].map((n) => ({ name: `${n}`, books: [{ title: "x", tags: [{ name: "same" }] }] }));
      await expect(Author.objects.bulkCreate(twice)).rejects.toThrow(/^books\.tags: duplicate key/);
      await expect(Author.objects.bulkCreate([{ name: "a", books: [] }], { onConflict: "ignore" })).rejects.toThrow(
        /onConflict/,
      );
    });
  });
});

/** Counts the statements of a database from now on, except those that begin and end transactions. */
function counting(db: Database): { count: number } {
  const sent = { count: 0 };
  (db as PoolDatabase).measure({ settled: () => sent.count++ });
  return sent;
}
