import { App } from "stoa";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { field, listOptions, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { Book, bookshop, seed } from "./bookshop.js";
import { describeDatabases } from "./databases.js";

class Offer extends Model("offers", {
  id: field.auto(),
  price: field.decimal(),
  printed: field.date(),
}) {}

interface Described {
  readonly type: string;
  readonly required: readonly string[];
}

describeDatabases("pages that clients ask for", service("postgres"), [...bookshop, Offer], () => {
  const app = new App();

  beforeAll(async () => {
    await seed();
    app.get("/books", ({ query }) =>
      Book.objects
        .filterFrom(query, ["year__gte"])
        .orderFrom(query.get("order"), ["id", "title"])
        .values("id")
        .pageFrom(query, { size: 2, maxSize: 4, maxPage: 1000 }),
    );
    app.get("/keys", ({ query }) =>
      Book.objects.orderBy("-year", "id").values("id").pageFrom(query, { by: "key", size: 2 }),
    );
  });
  beforeAll(() => {
    app.get("/offers", ({ query }) =>
      Offer.objects.orderFrom(query.get("order"), ["price", "printed"]).pageFrom(query, { by: "key" }),
    );
  });
  beforeAll(() => {
    const row = z.object({ id: z.int(), author__name: z.string() });
    const list = { filters: ["year__gte"], orders: ["id"], size: 2, row } as const;
    app.get("/described", { summary: "Books", ...listOptions(Book, list) }, ({ query }) =>
      Book.objects
        .filterFrom(query, list.filters)
        .orderFrom(query.get("order"), list.orders)
        .values("id", "author__name", "stock")
        .pageFrom(query, list),
    );
    app.get("/described/keys", listOptions(Book, { by: "key" }), ({ query }) =>
      Book.objects.pageFrom(query, { by: "key" }),
    );
    app.get("/described/all", listOptions(Book, { pages: false }), () => Book.objects.orderBy("id"));
  });
  afterAll(() => app.stop());

  async function read(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await app.request(path);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  it("pageFrom() reads the page and its size, beside the filter and the order", async () => {
    expect((await read("/books?order=id")).body).toEqual({
      items: [{ id: 1 }, { id: 2 }],
      page: 1,
      pageSize: 2,
      total: 6,
      pages: 3,
      hasNext: true,
      hasPrevious: false,
    });
    expect((await read("/books?order=-id&page=2&size=4")).body).toMatchObject({
      items: [{ id: 2 }, { id: 1 }],
      page: 2,
    });
    expect((await read("/books?order=id&year__gte=2000&page=1&size=")).body).toMatchObject({ total: 2 });
    expect((await read("/books?order=id&page=9")).body).toMatchObject({ items: [], page: 9, hasNext: false });
  });

  it("Pages have the members that listOptions() describes", async () => {
    const { components } = (await app.openapi()) as unknown as { components: { schemas: Record<string, Described> } };
    const { BookPage, BookKeysetPage, BookList, Book: book } = components.schemas;
    const { status, body } = await read("/described?order=-id&year__gte=1900&size=1");
    expect([status, Object.keys(body).sort()]).toEqual([200, [...BookPage!.required].sort()]);
    expect(Object.keys((body["items"] as object[])[0]!)).toEqual(["id", "author__name"]);
    expect((await read("/described?order=year")).status).toBe(400);
    const keys = (await read("/described/keys")).body;
    expect(Object.keys(keys).sort()).toEqual([...BookKeysetPage!.required].sort());
    expect(Object.keys((keys["items"] as object[])[0]!).sort()).toEqual([...book!.required].sort());
    expect([BookList!.type, (await read("/described/all")).body]).toEqual(["array", expect.any(Array)]);
  });

  it("pageFrom() by key follows the cursors of its pages, forward and backward", async () => {
    const first = (await read("/keys")).body;
    expect(first).toMatchObject({ items: [{ id: 6 }, { id: 3 }], previous: null });
    const second = (await read(`/keys?after=${first.next}`)).body;
    expect(second.items).toEqual([{ id: 5 }, { id: 4 }]);
    expect((await read(`/keys?before=${second.previous}&size=1`)).body.items).toEqual([{ id: 3 }]);
  });

  it.each([
    ["/books?page=0", "page must be an integer from 1 to 1000."],
    ["/books?page=1001", "page must be an integer from 1 to 1000."],
    ["/books?page=-1", "page must be"],
    ["/books?page=1.5", "page must be"],
    ["/books?page=1e2", "page must be"],
    ["/books?page=%201", "page must be"],
    ["/books?page=99999999999999999999999", "page must be"],
    ["/books?page=1&page=2", "page is given more than once."],
    ["/books?size=5", "size must be an integer from 1 to 4."],
    ["/books?size=x", "size must be"],
    ["/keys?size=101", "size must be an integer from 1 to 100."],
    ["/keys?after=x", "The cursor is not one of this list."],
    ["/keys?after=WyJ4Iiwib25lIl0", "The cursor is not one of this list."],
    ["/keys?after=a&before=b", "Use either after or before."],
  ])("The request %s gets 400 with the reason", async (path, detail) => {
    const { status, body } = await read(path);
    expect([status, body.detail]).toEqual([400, expect.stringContaining(detail)]);
  });

  it("A cursor with a date that does not exist gets 400, also where the order is a column of the loaded rows", async () => {
    const cursor = (...key: unknown[]): string => Buffer.from(JSON.stringify(key)).toString("base64url");
    for (const key of [
      ["2020-13-45", 1],
      ["1e999999", 1],
    ]) {
      const kind = key[0] === "1e999999" ? "price" : "printed";
      const { status, body } = await read(`/offers?order=${kind}&after=${cursor(...key)}`);
      expect([status, body.detail]).toEqual([400, "The cursor is not one of this list."]);
    }
  });

  it("Bounds that are no bounds are mistakes of the program", async () => {
    for (const options of [{ size: 0 }, { size: 10, maxSize: 5 }, { maxSize: Number.NaN }, { maxPage: 0.5 }])
      await expect(Book.objects.pageFrom({}, options)).rejects.toThrow(/must/);
    expect(await Book.objects.pageFrom({ page: 1 }, { size: 500 })).toMatchObject({ pageSize: 500 });
  });

  it("Without a size, a page has 20 rows, or the largest size if that is less", async () => {
    const books = Book.objects.orderBy("id");
    expect(await books.pageFrom({}, { maxSize: 5 })).toMatchObject({ pageSize: 5, total: 6, pages: 2 });
    expect(await books.pageFrom({ size: 3 }, { maxSize: 5 })).toMatchObject({ pageSize: 3 });
    expect(await books.pageFrom({}, { maxSize: 50 })).toMatchObject({ pageSize: 20 });
    expect((await books.pageFrom({}, { by: "key", maxSize: 5 })).items).toHaveLength(5);
    await expect(books.pageFrom({ size: 6 }, { maxSize: 5 })).rejects.toThrow("size must be an integer from 1 to 5.");
  });
});
