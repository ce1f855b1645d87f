import pg from "pg";
import { columnsOf, nest, shelve, statements } from "../lib/library-sql.mjs";
import { poolSize, serveStore } from "../lib/store-server.mjs";

/** node-postgres by hand, the statements named and so prepared once: the measure of the others. */
export const serve = serveStore((url) => {
  const pool = new pg.Pool({ connectionString: url, max: poolSize });
  const run = async (name, values, client = pool) =>
    (await client.query({ name, text: statements[name], values })).rows;
  return {
    book: async (id) => (await run("book", [id]))[0],
    books: (limit) => run("books", [limit]),
    booksWithAuthors: async (limit) => (await run("join", [limit])).map(nest),
    addBook: async ({ title, authorId, year, inStock, price }) =>
      (await run("add", [title, authorId, year, inStock, price]))[0],
    authorsWithBooks: async (limit, newest) => shelve(await run("shelf", [limit, newest])),
    async addAuthor({ name, country, books }) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        const [author] = await run("addAuthor", [name, country], client);
        author.books = await run("addBooks", columnsOf(author.id, books), client);
        await client.query("commit");
        return author;
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
  };
});
