import { Blueprint } from "stoa";
import { F, partial } from "stoa/orm";
import { z } from "zod";
import { Book, Tag } from "./models.js";
import { Delivery, ErrorBody, Id, KeysetQuery, PageQuery, TagNames } from "./schemas.js";

/** The filters of the list. All others are refused, so that no query is slow by surprise. */
const filters = {
  title__icontains: z.string().optional(),
  author: z.string().optional().describe("Id of the author"),
  author__name__icontains: z.string().optional(),
  tags__name: z.string().optional(),
  year: z.string().optional(),
  price__gte: z.string().optional(),
  price__lte: z.string().optional(),
  stock__gt: z.string().optional(),
};
const orders = ["title", "price", "year", "author__sortName"];

const missing = { 404: { description: "No book has this id", schema: ErrorBody } } as const;
const invalid = { 400: { description: "A filter or an order that there is not", schema: ErrorBody } } as const;
const taken = { 409: { description: "There is a book with this ISBN, or no such author", schema: ErrorBody } } as const;

export function books(): Blueprint<"/books"> {
  const routes = new Blueprint("/books", { tags: ["books"] });

  routes.get(
    "/",
    { summary: "Books by page", query: z.object({ ...PageQuery, ...filters }), responses: invalid },
    (request, { query }) => {
      const asked = [...request.query].filter(([name]) => !(name in PageQuery));
      return Book.objects
        .selectRelated("author")
        .prefetchRelated("tags")
        .orderBy("title", "id")
        .filterFrom(asked, Object.keys(filters))
        .orderFrom(query.order, orders)
        .page(query.page, query.size);
    },
  );

  // A page by key stays right while books are added, and is as fast at the end as at the beginning.
  routes.get(
    "/newest",
    { summary: "Books by key, the newest first", query: z.object(KeysetQuery), responses: invalid },
    (_request, { query }) => Book.objects.selectRelated("author").orderBy("-createdAt", "-id").keyset(query),
  );

  routes.post(
    "/",
    { summary: "Add a book", body: Book, response: Book, status: 201, responses: taken },
    (_request, { body }) => Book.objects.create(body),
  );

  routes.get("/{id}", { summary: "One book", params: Id, responses: missing }, (_request, { params }) =>
    Book.objects.selectRelated("author").prefetchRelated("tags").get({ id: params.id }),
  );

  routes.patch(
    "/{id}",
    { summary: "Change a book", params: Id, body: partial(Book), response: Book, responses: { ...missing, ...taken } },
    async (_request, { params, body }) => {
      const book = await Book.objects.get({ id: params.id });
      await Object.assign(book, body).save();
      return book;
    },
  );

  routes.delete(
    "/{id}",
    {
      summary: "Remove a book that was never ordered",
      params: Id,
      status: 204,
      responses: { ...missing, 409: { description: "It stands in an order", schema: ErrorBody } },
    },
    async (_request, { params }) => {
      await (await Book.objects.get({ id: params.id })).delete();
    },
  );

  routes.put(
    "/{id}/tags",
    { summary: "Say which tags a book has", params: Id, body: TagNames, responses: missing },
    (request, { params, body }) =>
      request.db.transaction(async () => {
        const book = await Book.objects.get({ id: params.id });
        const tags: Tag[] = [];
        // In one order, so that two who make the same tags do not wait for each other.
        for (const name of [...new Set(body)].sort()) tags.push((await Tag.objects.getOrCreate({ name }))[0]);
        await book.tags.set(tags);
        return tags;
      }),
  );

  routes.post(
    "/{id}/deliveries",
    { summary: "Add copies to the stock", params: Id, body: Delivery, responses: missing },
    async (_request, { params, body }) => {
      // Added by the database: whoever reads, adds and writes loses what is sold in between.
      const [book] = await Book.objects
        .filter({ id: params.id })
        .updateReturning({ stock: F("stock").plus(body.quantity) });
      if (book === undefined) throw new Book.DoesNotExist();
      return { id: book.id, stock: book.stock };
    },
  );

  return routes;
}
