import { beforeEach, expect, it, vi } from "vitest";
import type { Queries } from "../../src/engines/db/database.js";
import { FieldError, LazyLoadError, prefetch } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Country, Profile, seed, Tag } from "./bookshop.js";
import { describeDatabases, truncate } from "./databases.js";

describeDatabases("relations", service("postgres"), bookshop, (db) => {
  beforeEach(async () => {
    await truncate(db(), bookshop);
    await seed();
  });

  /** The statements that a function sends, in a transaction of its own. */
  const statements = (run: (tx: Queries) => Promise<unknown>): Promise<string[]> =>
    db().transaction(async (tx) => {
      const sent = vi.spyOn(tx, "fetchArrays");
      await run(tx);
      return sent.mock.calls.map(([statement]) => String(statement));
    });

  it("selectRelated() loads relations with the row, in one statement", async () => {
    const sent = await statements(async (counting) => {
      const books = await Book.objects.using(counting).selectRelated("author__country", "author__mentor").orderBy("id");
      expect(books.map((book) => book.author.country?.code ?? null)).toEqual(["us", "us", "us", "gb", "gb", null]);
      expect(books.at(-1)?.author.mentor?.shout).toBe("URSULA K. LE GUIN");
      expect(books[0]).toBeInstanceOf(Book);
      expect(books[0]!.author).toBeInstanceOf(Author);
    });
    expect(sent).toHaveLength(1);
  });

  it("The other side of a one-to-one relation can be loaded", async () => {
    const authors = await Author.objects.selectRelated("profile").orderBy("id");
    expect(authors.map((author) => author.profile?.bio ?? null)).toEqual(["Earthsea", null, null]);
    const lazily = await Author.objects.orderBy("id");
    expect((await lazily[0]!.profile)?.bio).toBe("Earthsea");
    expect(await lazily[1]!.profile).toBeNull();
  });

  it("prefetchRelated() loads relations with one query each, also nested and filtered", async () => {
    const sent = await statements(async (counting) => {
      const authors = await Author.objects
        .using(counting)
        .prefetchRelated(
          prefetch("books", Book.objects.filter({ year__gte: 1980 }).orderBy("-title")),
          "books__tags",
          "country",
        )
        .orderBy("id");
      expect(authors.map((author) => author.books.map((book) => book.title))).toEqual([
        ["Lavinia"],
        ["Matter", "Consider Phlebas"],
        [],
      ]);
      expect(authors[1]!.books.map((book) => book.tags.map((tag) => tag.name))).toEqual([["sf"], ["sf"]]);
      expect(authors[1]!.country?.code).toBe("gb");
    });
    expect(sent).toHaveLength(5);
    const tags = await Tag.objects.prefetchRelated("books__author").orderBy("id");
    expect(tags[1]!.books.map((book) => book.author.name).sort()).toEqual([
      "Iain Banks",
      "Iain Banks",
      "Ursula K. Le Guin",
    ]);
    expect(() => Author.objects.prefetchRelated(prefetch("books", Tag.objects) as never)).toThrow(FieldError);
  });

  it("A lazy relation is loaded for all rows of the query at once", async () => {
    const sent = await statements(async (counting) => {
      const books = await Book.objects.using(counting).orderBy("id");
      const names: string[] = [];
      for (const book of books) {
        const author = await book.author;
        names.push(`${author.name} / ${(await author.country)?.code ?? "-"}`);
        await book.tags;
      }
      expect(names).toHaveLength(6);
      expect(names[0]).toBe("Ursula K. Le Guin / us");
      expect(names[5]).toBe("Octavia Butler / -");
    });
    // Books, authors, countries, and the two of the tags.
    expect(sent).toHaveLength(5);
    const together = await statements(async (counting) => {
      const books = await Book.objects.using(counting);
      await Promise.all(books.map(async (book) => book.author));
    });
    expect(together).toHaveLength(2);
  });

  it("A lazy relation can be loaded again after a failure", async () => {
    await db().transaction(async (tx) => {
      const [book] = await Book.objects.using(tx).orderBy("id").limit(1);
      const fetchArrays = vi.spyOn(tx, "fetchArrays").mockRejectedValueOnce(new Error("gone"));
      await expect(Promise.resolve(book!.author)).rejects.toThrow("gone");
      expect((await book!.author).name).toBe("Ursula K. Le Guin");
      expect(fetchArrays).toHaveBeenCalledTimes(2);
    });
  });

  it("A strict queryset refuses to load relations lazily", async () => {
    const [book] = await Book.objects.strict().limit(1);
    await expect(Promise.resolve(book!.author)).rejects.toThrow(LazyLoadError);
    await expect(Promise.resolve(book!.author)).rejects.toThrow(
      'Book.author was not loaded: add selectRelated("author") to the query',
    );
    await expect(Promise.resolve(book!.tags)).rejects.toThrow(/prefetchRelated\("tags"\)/);
    const [loaded] = await Book.objects.strict().selectRelated("author").prefetchRelated("tags").limit(1);
    expect(loaded!.author.name).toBeDefined();
    expect(loaded!.tags).toBeInstanceOf(Array);
    await expect(Promise.resolve(loaded!.author.country)).rejects.toThrow(LazyLoadError);
  });

  it("A relation whose key is null is null at once", async () => {
    const author = await Author.objects.get({ name: "Iain Banks" });
    expect(author.mentor).toBeNull();
  });

  it("A relation is assigned by instance or by key", async () => {
    const iain = await Author.objects.get({ name: "Iain Banks" });
    const book = await Book.objects.get({ title: "Kindred" });
    book.author = iain;
    expect(book.authorId).toBe(iain.id);
    await book.save();
    expect((await Book.objects.selectRelated("author").get({ title: "Kindred" })).author.name).toBe("Iain Banks");
    book.authorId = 1;
    expect((await book.author).id).toBe(1);
    iain.country = null;
    expect(iain.countryId).toBeNull();
    expect(() => {
      (iain as unknown as { books: unknown }).books = [];
    }).toThrow(FieldError);
  });

  it("A relation to many is a queryset of its own", async () => {
    const ursula = await Author.objects.get({ name__startswith: "Ursula" });
    expect(await ursula.books.filter({ year__gt: 2000 }).flat("title")).toEqual(["Lavinia"]);
    expect(await ursula.books.count()).toBe(3);
    expect((await ursula.books).map((book) => book.label)).toContain("Lavinia (2008)");
    const made = await ursula.books.create({ title: "The Telling" });
    expect(made.authorId).toBe(ursula.id);
    expect(await ursula.books).toHaveLength(4);
    const country = await Country.objects.get({ code: "us" });
    const authors = (country as unknown as { authors: Author["books"] }).authors;
    expect(await authors.count()).toBe(1);
  });

  it("Rows can be added to and removed from a relation to many, and it can be set and cleared", async () => {
    const book = await Book.objects.get({ title: "Matter" });
    const names = async (): Promise<string[]> => (await book.related("tags").orderBy("name")).map((tag) => tag.name);
    const fantasy = await Tag.objects.get({ name: "fantasy" });
    await book.tags.add(fantasy, fantasy);
    expect(await names()).toEqual(["fantasy", "sf"]);
    await book.tags.remove(fantasy);
    expect(await names()).toEqual(["sf"]);
    await book.tags.set([1, 3]);
    expect(await names()).toEqual(["classic", "fantasy"]);
    const made = await book.tags.create({ name: "culture" });
    expect(made.id).toBeGreaterThan(0);
    expect(await made.books.flat("title")).toEqual(["Matter"]);
    await book.tags.clear();
    expect(await names()).toEqual([]);
    const iain = await Author.objects.get({ name: "Iain Banks" });
    await iain.books.add(await Book.objects.get({ title: "Kindred" }));
    expect(await iain.books.count()).toBe(3);
    await expect(iain.books.remove(book)).rejects.toThrow(/cannot be null/);
    const us = await Country.objects.get({ code: "us" });
    const authors = us.related("authors" as never) as unknown as Author["books"];
    await authors.clear();
    expect(await Author.objects.filter({ country: us }).count()).toBe(0);
  });

  it("Deleting a row deletes or clears the rows that refer to it, as the model says", async () => {
    await Author.objects.filter({ name__startswith: "Ursula" }).delete();
    expect(await Book.objects.count()).toBe(3);
    expect(await Profile.objects.count()).toBe(0);
    expect((await Author.objects.get({ name: "Octavia Butler" })).mentorId).toBeNull();
  });

  it("Relations use the surrounding transaction", async () => {
    const rolledBack = db().transaction(async () => {
      await Tag.objects.create({ name: "gone" });
      const book = await Book.objects.get({ id: 1 });
      await book.tags.clear();
      expect(await book.tags.count()).toBe(0);
      throw new Error("no");
    });
    await expect(rolledBack).rejects.toThrow("no");
    expect(await Tag.objects.filter({ name: "gone" }).exists()).toBe(false);
    expect(await (await Book.objects.get({ id: 1 })).tags.count()).toBe(2);
  });
});
