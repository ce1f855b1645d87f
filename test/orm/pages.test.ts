import { beforeAll, expect, it } from "vitest";
import { ParameterTypeError, ParameterValueError } from "../../src/engines/db/errors.js";
import { FieldError } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Note, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

describeDatabases("many rows", service("postgres"), bookshop, (db) => {
  beforeAll(async () => {
    await seed();
    await Note.objects.bulkCreate(Array.from({ length: 1000 }, (_, index) => ({ text: `note ${index % 10}` })));
  });

  it("page() returns rows by page number", async () => {
    const page = await Book.objects.orderBy("id").page(2, 4);
    expect(page).toMatchObject({ page: 2, pageSize: 4, total: 6, pages: 2, hasNext: false, hasPrevious: true });
    expect(page.items.map((book) => book.id)).toEqual([5, 6]);
    expect(await Book.objects.filter({ id: 99 }).page(1, 10)).toMatchObject({
      items: [],
      total: 0,
      pages: 0,
      hasNext: false,
      hasPrevious: false,
    });
    await expect(Book.objects.page(0, 10)).rejects.toThrow(FieldError);
    await expect(Book.objects.page("1" as never, 10)).rejects.toThrow(ParameterTypeError);
    await expect(Book.objects.limit(3).page(1, 10)).rejects.toThrow(FieldError);
  });

  it("keyset() returns pages by key, forward and backward", async () => {
    for (const notes of [
      Note.objects.orderBy("text", "-id"),
      Note.objects.orderBy("-createdAt"),
      Note.objects.orderBy("-text"),
      Note.objects.all(),
    ]) {
      const expected = await notes.flat("id");
      const seen: bigint[] = [];
      let after: string | null | undefined;
      let last: string | null = null;
      for (let pages = 0; pages < 20; pages++) {
        const page = await notes.keyset({ size: 130, after });
        seen.push(...page.items.map((note) => note.id));
        last = page.previous;
        after = page.next;
        if (after === null) break;
      }
      expect(new Set(seen).size).toBe(1000);
      if (notes.query.orderBy?.length === 2) expect(seen).toEqual(expected);
      const back = await notes.keyset({ size: 130, before: last });
      expect(back.items.map((note) => note.id)).toEqual(seen.slice(780, 910));
      expect(back.next).not.toBeNull();
    }
  });

  it("Invalid cursors of keyset() are refused", async () => {
    for (const after of [
      "",
      "x",
      "bnVsbA",
      Buffer.from('{"a":1}').toString("base64url"),
      Buffer.from("[1,2,3]").toString("base64url"),
      Buffer.from('[{"a":1}]').toString("base64url"),
    ]) {
      if (after === "") continue;
      await expect(Note.objects.orderBy("id").keyset({ size: 1, after })).rejects.toThrow(ParameterValueError);
    }
    await expect(Book.objects.keyset({ size: 1, after: "a", before: "b" })).rejects.toThrow(/not both/);
  });

  it("iterator() returns rows one by one through a cursor", async () => {
    let count = 0;
    for await (const note of Note.objects.orderBy("id").iterator({ batch: 64 })) {
      count++;
      expect(note).toBeInstanceOf(Note);
      expect(note.id).toBe(BigInt(count));
    }
    expect(count).toBe(1000);
    for await (const note of Note.objects.orderBy("id")) if (note.id > 3n) break;
    expect(await db().fetchval("select 1")).toBe(1);
    const titles: string[] = [];
    for await (const book of Book.objects
      .selectRelated("author")
      .prefetchRelated("tags")
      .orderBy("id")
      .iterator({ batch: 2 })) {
      titles.push(`${book.author.name}: ${book.title} ${book.tags.length}`);
    }
    expect(titles[0]).toBe("Ursula K. Le Guin: A Wizard of Earthsea 2");
    expect(titles).toHaveLength(6);
    const values: unknown[] = [];
    for await (const row of Book.objects.orderBy("id").values("id", "author__id").iterator()) values.push(row);
    expect(values[3]).toEqual({ id: 4, author__id: 2 });
    for await (const _ of Book.objects.none()) expect.unreachable();
  });

  it("count() counts the rows that the query would return", async () => {
    expect(await Note.objects.count()).toBe(1000);
    expect(await Note.objects.limit(10).count()).toBe(10);
    expect(await Note.objects.offset(995).count()).toBe(5);
    expect(await Note.objects.values("text").distinct().count()).toBe(10);
    expect(await Note.objects.distinct("text").count()).toBe(10);
    expect(await Book.objects.filter({ tags__name__in: ["sf", "classic"] }).count()).toBe(4);
    expect(await Author.objects.filter({ books__tags__name: "sf" }).exists()).toBe(true);
    expect(await Tag.objects.filter({ name: "x" }).exists()).toBe(false);
    expect(await Book.objects.none().count()).toBe(0);
    expect(await Book.objects.none()).toEqual([]);
    expect(await Book.objects.limit(0)).toEqual([]);
    expect(await Book.objects.explain()).toContain("Scan");
    expect(await Book.objects.explain({ analyze: true })).toContain("actual");
  });
});
