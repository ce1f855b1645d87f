import { beforeAll, expect, it } from "vitest";
import { FieldError, prefetch } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, seed } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

describeDatabases("the choice of fields", service("postgres"), bookshop, () => {
  beforeAll(seed);

  it("only() loads chosen fields of a row that selectRelated joins", async () => {
    const books = Book.objects.selectRelated("author__country").only("title", "author__name", "author__country__code");
    expect(books.toSql().text).not.toMatch(/email|"year"|"price"/);
    const book = await books.get({ id: 1 });
    expect(book.author.name).toBe("Ursula K. Le Guin");
    expect(book.author.country?.code).toBe("us");
    expect(JSON.parse(JSON.stringify(book))).toEqual({
      id: 1,
      title: "A Wizard of Earthsea",
      authorId: 1,
      author: { id: 1, name: "Ursula K. Le Guin", countryId: 1, country: { id: 1, code: "us" } },
    });
    expect((await books.filter({ id: 1 }).json()).value()).toEqual([JSON.parse(JSON.stringify(book))]);
  });

  it("A relation that selectRelated joins stays loaded when only() does not name it", async () => {
    const book = await Book.objects.selectRelated("author").only("title").get({ id: 4 });
    expect(book.author.name).toBe("Iain Banks");
    expect(book.author.email).toBeNull();
    expect(Object.keys(book)).toEqual(["id", "title", "authorId"]);
    const late = await Book.objects.only("title").selectRelated("author").get({ id: 4 });
    expect(late.author.name).toBe("Iain Banks");
  });

  it("defer() leaves out fields of related rows", async () => {
    const books = Book.objects.selectRelated("author").defer("price", "author__email", "author__mentor");
    const book = await books.get({ id: 6 });
    expect(Object.keys(book.author)).toEqual(["id", "name", "countryId"]);
    expect("price" in book).toBe(false);
    expect(book.stock).toBe(2);
  });

  it("only() loads chosen fields of prefetched rows, at any depth", async () => {
    const authors = Author.objects
      .prefetchRelated("books__tags", "profile")
      .only("name", "books__title", "books__tags__name", "profile__bio")
      .orderBy("id");
    const [ursula, iain] = await authors;
    expect(JSON.parse(JSON.stringify(ursula!.books[0]))).toEqual({
      id: 1,
      title: "A Wizard of Earthsea",
      authorId: 1,
      tags: expect.arrayContaining([{ id: 1, name: "fantasy" }]),
    });
    expect(ursula!.profile?.bio).toBe("Earthsea");
    expect(ursula!.profile).not.toHaveProperty("settings");
    expect(iain!.books.map((book) => book.title).toSorted()).toEqual(["Consider Phlebas", "Matter"]);
    const byName = (a: { name: string }, b: { name: string }): number => a.name.localeCompare(b.name);
    const json = (await authors.json()).value() as { books: { tags: { name: string }[] }[] }[];
    const plain = JSON.parse(JSON.stringify(await authors)) as typeof json;
    for (const { books } of [...json, ...plain]) for (const { tags } of books) tags.sort(byName);
    expect(json).toEqual(plain);
  });

  it("only() narrows the query of a prefetch further", async () => {
    const [iain] = await Author.objects
      .filter({ id: 2 })
      .prefetchRelated(prefetch("books", Book.objects.orderBy("-year").limit(1)))
      .only("books__title");
    expect(iain!.books.map(({ title }) => title)).toEqual(["Matter"]);
    expect(Object.keys(iain!.books[0]!).toSorted()).toEqual(["authorId", "id", "title"]);
    expect(Object.keys(iain!)).toEqual(["id"]);
  });

  it("Statements with other fields of related rows are kept apart", async () => {
    const books = Book.objects.selectRelated("author");
    expect((await books.only("title", "author__name").get({ id: 1 })).author).not.toHaveProperty("email");
    expect((await books.only("title", "author__email").get({ id: 1 })).author).toMatchObject({
      email: "ursula@example.org",
    });
    expect((await books.get({ id: 1 })).author.name).toBe("Ursula K. Le Guin");
  });

  it("A row with chosen fields of its relation can be saved", async () => {
    const book = await Book.objects.selectRelated("author").only("title", "author__name").get({ id: 1 });
    book.author.name = "U. K. Le Guin";
    await book.author.save();
    expect(await Author.objects.get({ id: 1 })).toMatchObject({ name: "U. K. Le Guin", email: "ursula@example.org" });
    await Author.objects.filter({ id: 1 }).update({ name: "Ursula K. Le Guin" });
  });

  it("Fields of relations that are not loaded are refused with the call that loads them", () => {
    expect(() => Book.objects.only("author__name" as never)).toThrow(
      'Book.author is not loaded: call selectRelated("author") before only()',
    );
    expect(() => Author.objects.defer("books__title" as never)).toThrow(
      'Author.books is not loaded: call prefetchRelated("books") before defer()',
    );
    expect(() => Book.objects.selectRelated("author").only("author__country__code" as never)).toThrow(/not loaded/);
    for (const wrong of ["nothing", "author__nothing", "nothing__name", "title__length", "author__", ""])
      expect(() => Book.objects.selectRelated("author").only(wrong as never)).toThrow(FieldError);
  });
});
