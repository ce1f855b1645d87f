import { columnsOf, nest, shelve, statements } from "../lib/library-sql.mjs";
import { stoa } from "../lib/stoa-models.mjs";
import { poolSize, serveStore } from "../lib/store-server.mjs";

/** The pool alone, with the statements of the base. */
export const serve = serveStore(async (url) => {
  const db = await stoa.openDatabase({ url, poolSize });
  return {
    book: (id) => db.fetchrow(statements.book, [id]),
    books: (limit) => db.fetch(statements.books, [limit]),
    booksWithAuthors: async (limit) => (await db.fetch(statements.join, [limit])).map(nest),
    addBook: ({ title, authorId, year, inStock, price }) =>
      db.fetchrow(statements.add, [title, authorId, year, inStock, price]),
    authorsWithBooks: async (limit, newest) => shelve(await db.fetch(statements.shelf, [limit, newest])),
    addAuthor: ({ name, country, books }) =>
      db.transaction(async (tx) => {
        const author = await tx.fetchrow(statements.addAuthor, [name, country]);
        return { ...author, books: await tx.fetch(statements.addBooks, columnsOf(author.id, books)) };
      }),
  };
});
