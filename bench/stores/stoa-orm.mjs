import { Author, Book, orm, stoa } from "../lib/stoa-models.mjs";
import { poolSize, serveStore } from "../lib/store-server.mjs";

/** Models: instances are made of the rows, and serialised here. */
export const calls = {
  book: (id) => Book.objects.get({ id }),
  books: async (limit) => Book.objects.orderBy("id").limit(limit),
  booksWithAuthors: async (limit) => Book.objects.selectRelated("author").orderBy("id").limit(limit),
  addBook: (values) => Book.objects.create(values),
  authorsWithBooks: async (limit, newest) => authorsWithBooks(limit, newest),
  addAuthor: (values) => Author.objects.create(values),
};

/** Two statements: the authors, and the newest books of each. */
export function authorsWithBooks(limit, newest) {
  const books = orm.prefetch("books", Book.objects.orderBy("-id").limit(newest));
  return Author.objects.prefetchRelated(books).orderBy("id").limit(limit);
}

export async function open(url) {
  orm.bindDatabase(await stoa.openDatabase({ url, poolSize }));
  return calls;
}

export const serve = serveStore(open);
