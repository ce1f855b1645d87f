import { Book, orm, stoa } from "../lib/stoa-models.mjs";
import { poolSize, serveStore } from "../lib/store-server.mjs";

/** Models: instances are made of the rows, and serialised here. */
export const calls = {
  book: (id) => Book.objects.get({ id }),
  books: async (limit) => Book.objects.orderBy("id").limit(limit),
  booksWithAuthors: async (limit) => Book.objects.selectRelated("author").orderBy("id").limit(limit),
  addBook: (values) => Book.objects.create(values),
};

export async function open(url) {
  orm.bindDatabase(await stoa.openDatabase({ url, poolSize }));
  return calls;
}

export const serve = serveStore(open);
