import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { nest, shelve } from "../lib/library-sql.mjs";
import { poolSize, serveStore } from "../lib/store-server.mjs";

const columns = [
  "books.id",
  "books.title",
  "books.author_id as authorId",
  "books.year",
  "books.in_stock as inStock",
  "books.price",
  "books.created_at as createdAt",
];
const authorColumns = ["authors.id as author.id", "authors.name as author.name", "authors.country as author.country"];

/** Names are given in the queries: the plugin that turns them into camel case works on every row. */
export const serve = serveStore((url) => {
  const pool = new pg.Pool({ connectionString: url, max: poolSize });
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  return {
    book: (id) => db.selectFrom("books").select(columns).where("id", "=", id).executeTakeFirst(),
    books: (limit) => db.selectFrom("books").select(columns).orderBy("id").limit(limit).execute(),
    async booksWithAuthors(limit) {
      const rows = await db
        .selectFrom("books")
        .innerJoin("authors", "authors.id", "books.author_id")
        .select(columns)
        .select(authorColumns)
        .orderBy("books.id")
        .limit(limit)
        .execute();
      return rows.map(nest);
    },
    async authorsWithBooks(limit, newest) {
      const rows = await db
        .selectFrom((from) => from.selectFrom("authors").selectAll().orderBy("id").limit(limit).as("authors"))
        .leftJoinLateral(
          (from) =>
            from
              .selectFrom("books")
              .selectAll()
              .whereRef("books.author_id", "=", "authors.id")
              .orderBy("books.id", "desc")
              .limit(newest)
              .as("books"),
          (join) => join.on(sql`true`),
        )
        .select(authorColumns)
        .select(columns)
        .orderBy("authors.id")
        .orderBy("books.id", "desc")
        .execute();
      return shelve(rows);
    },
    addAuthor: ({ books, ...values }) =>
      db.transaction().execute(async (tx) => {
        const author = await tx
          .insertInto("authors")
          .values(values)
          .returning(["id", "name", "country"])
          .executeTakeFirst();
        const rows = books.map(({ title, year, inStock, price }) => ({
          title,
          author_id: author.id,
          year,
          in_stock: inStock,
          price,
        }));
        return { ...author, books: await tx.insertInto("books").values(rows).returning(columns).execute() };
      }),
    addBook: ({ title, authorId, year, inStock, price }) =>
      db
        .insertInto("books")
        .values({ title, author_id: authorId, year, in_stock: inStock, price })
        .returning(columns)
        .executeTakeFirst(),
  };
});
