import { Book } from "../lib/stoa-models.mjs";
import { serveStore } from "../lib/store-server.mjs";
import { authorsWithBooks, open } from "./stoa-orm.mjs";

/** The same queries, as JSON that PostgreSQL writes. */
export const serve = serveStore(async (url) => ({
  ...(await open(url)),
  books: async (limit) => (await Book.objects.orderBy("id").limit(limit).json()).text,
  booksWithAuthors: async (limit) =>
    (await Book.objects.selectRelated("author").orderBy("id").limit(limit).json()).text,
  authorsWithBooks: async (limit, newest) => (await authorsWithBooks(limit, newest).json()).text,
}));
