import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { App } from "../../src/entry/index.js";
import { count, field, JsonText, Model, prefetch } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Author, Book, bookshop, Note, Profile, seed, Tag } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

class Shouting extends Model("tags", { id: field.auto(), name: field.text() }, { managed: false }) {
  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), loud: this.name.toUpperCase() };
  }
}

describeDatabases("results over HTTP", service("postgres"), bookshop, (db) => {
  beforeAll(seed);

  const answer = async (
    handler: () => unknown,
    status?: number,
  ): Promise<{ status: number; type: string | null; body: unknown }> => {
    const app = new App();
    app.get("/", status === undefined ? {} : { status }, handler as () => object);
    const response = await app.fetch(new globalThis.Request("http://localhost/"));
    return { status: response.status, type: response.headers.get("content-type"), body: await response.json() };
  };

  it("The response is the same, however a handler returns the queryset", async () => {
    const books = Book.objects
      .selectRelated("author__country")
      .prefetchRelated("tags")
      .annotate({ n: count("tags") })
      .orderBy("id");
    const expected = JSON.parse(JSON.stringify(await books)) as unknown[];
    expect(expected).toHaveLength(6);
    expect(expected[0]).toMatchObject({
      title: "A Wizard of Earthsea",
      price: "10.50",
      n: 2,
      author: { country: { code: "us" } },
      tags: [{ name: "fantasy" }, { name: "classic" }],
    });
    for (const handler of [
      () => books,
      async () => books,
      async () => books.json(),
      () => books.json(),
      async () => await books,
      () => books.toArray(),
    ]) {
      expect(await answer(handler)).toEqual({ status: 200, type: "application/json", body: expected });
    }
    expect(await answer(async () => ({ books: await books.json() }))).toMatchObject({ body: { books: expected } });
    expect(await answer(() => ({ page: 1, shelves: [{ books }] }))).toMatchObject({
      status: 200,
      body: { page: 1, shelves: [{ books: expected }] },
    });
    expect(await answer(() => books.json(), 202)).toMatchObject({ status: 202, body: expected });
  });

  it("A response schema sees the rows of querysets inside a result", async () => {
    const app = new App();
    const response = z.object({ tags: z.array(z.object({ name: z.string() })), total: z.number() });
    app.get("/", { response }, () => ({ tags: Tag.objects.orderBy("id"), total: Tag.objects.count() }) as never);
    const sent = await (await app.request("/")).json();
    const tags = await Tag.objects.orderBy("id");
    expect(sent).toEqual({ tags: tags.map(({ name }) => ({ name })), total: tags.length });
  });

  it("The response of a single model contains the relations loaded with it", async () => {
    expect(await answer(() => Book.objects.get({ id: 6 }))).toEqual({
      status: 200,
      type: "application/json",
      body: {
        id: 6,
        title: "Kindred",
        authorId: 3,
        year: null,
        price: "7.25",
        stock: 2,
        status: "draft",
        keywords: [],
        published: null,
      },
    });
    const withAuthor = await answer(() => Book.objects.selectRelated("author").get({ id: 6 }));
    expect(withAuthor.body).toMatchObject({ authorId: 3, author: { name: "Octavia Butler" } });
    const lazily = await answer(async () => {
      const book = await Book.objects.get({ id: 6 });
      await book.author;
      return book;
    });
    expect(lazily.body).not.toHaveProperty("author");
  });

  it("The response contains only the selected fields, and no hidden ones", async () => {
    const only = Book.objects.only("title").filter({ id: 1 });
    for (const handler of [() => only, async () => only])
      expect((await answer(handler)).body).toEqual([{ id: 1, title: "A Wizard of Earthsea" }]);
    await Note.objects.create({ text: "x" });
    for (const handler of [() => Note.objects.all(), async () => Note.objects.all()]) {
      const { body } = await answer(handler);
      expect(Object.keys((body as object[])[0]!)).toEqual(["id", "text", "createdAt", "updatedAt", "deletedAt"]);
    }
    const values = Book.objects.orderBy("id").limit(1);
    expect((await answer(() => values.values("title", "author__name"))).body).toEqual([
      { title: "A Wizard of Earthsea", author__name: "Ursula K. Le Guin" },
    ]);
    expect((await answer(() => values.valuesList("id", "title"))).body).toEqual([[1, "A Wizard of Earthsea"]]);
    expect((await answer(() => values.flat("title"))).body).toEqual(["A Wizard of Earthsea"]);
    expect((await answer(() => Book.objects.values("status").annotate({ n: count() }).filter({ n: 3 }))).body).toEqual([
      { status: "published", n: 3 },
    ]);
    expect((await answer(() => Book.objects.none())).body).toEqual([]);
  });

  it("The response nests relations of every kind, also filtered ones", async () => {
    const authors = Author.objects
      .selectRelated("profile")
      .prefetchRelated(prefetch("books", Book.objects.filter({ year: 2008 }).only("title")), "books__tags", "mentor")
      .orderBy("id");
    const fromDatabase = JSON.parse((await authors.json()).text) as unknown[];
    expect(fromDatabase).toEqual(JSON.parse(JSON.stringify(await authors)));
    expect(fromDatabase[1]).toMatchObject({
      profile: null,
      mentor: null,
      books: [{ id: 5, title: "Matter", authorId: 2, tags: [{ name: "sf" }] }],
    });
    expect(fromDatabase[2]).toMatchObject({ mentor: { name: "Ursula K. Le Guin" }, books: [] });
    const tags = Tag.objects.prefetchRelated("books__author").orderBy("id");
    expect(JSON.parse((await tags.json()).text)).toEqual(JSON.parse(JSON.stringify(await tags)));
  });

  it("The response uses the toJSON method of the model", async () => {
    const tags = Shouting.objects.filter({ id: 2 });
    for (const handler of [() => tags, async () => tags, () => tags.json()])
      expect((await answer(handler)).body).toEqual([{ id: 2, name: "sf", loud: "SF" }]);
    expect((await answer(() => Shouting.objects.get({ id: 2 }))).body).toEqual({ id: 2, name: "sf", loud: "SF" });
  });

  it("An error of a returned queryset is a 500 that the handler cannot catch", async () => {
    const broken = Book.objects.filter({ title__regex: "(" });
    const sync = await answer(() => {
      try {
        return broken;
      } catch {
        return "caught";
      }
    });
    const asynchronous = await answer(async () => {
      try {
        return broken;
      } catch {
        return "caught";
      }
    });
    expect([sync.status, asynchronous.status]).toEqual([500, 500]);
    const caught = await answer(async () => {
      try {
        return await broken.json();
      } catch (error) {
        return { caught: (error as Error).name };
      }
    });
    expect(caught.body).toEqual({ caught: "DataError" });
  });

  it("The result of json() can be parsed, printed, or used inside other JSON", async () => {
    const json = await Tag.objects.filter({ id: 1 }).json();
    expect(json).toBeInstanceOf(JsonText);
    expect(`${json}`).toBe('[{"id":1,"name":"fantasy"}]');
    expect(json.value()).toEqual([{ id: 1, name: "fantasy" }]);
    expect(JSON.stringify({ tags: json })).toBe('{"tags":[{"id":1,"name":"fantasy"}]}');
    const awkward = 'quo"te \\ \u2028 </script> \n 😀';
    await Profile.objects.filter({ author: 1 }).update({ bio: awkward });
    expect((await answer(() => Profile.objects.all())).body).toMatchObject([{ bio: awkward }]);
    expect(await db().fetchval("select 1")).toBe(1);
  });
});
