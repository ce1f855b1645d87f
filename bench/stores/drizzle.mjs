import { asc, desc, eq, relations, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { boolean, doublePrecision, integer, pgTable, timestamp, varchar } from "drizzle-orm/pg-core";
import pg from "pg";
import { poolSize, serveStore } from "../lib/store-server.mjs";

const authors = pgTable("authors", {
  id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
  name: varchar("name", { length: 100 }).notNull(),
  country: varchar("country", { length: 2 }).notNull(),
});

const books = pgTable("books", {
  id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
  title: varchar("title", { length: 200 }).notNull(),
  authorId: integer("author_id")
    .notNull()
    .references(() => authors.id),
  year: integer("year"),
  inStock: boolean("in_stock").notNull(),
  price: doublePrecision("price").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
});

const authorRelations = relations(authors, ({ many }) => ({ books: many(books) }));
const bookRelations = relations(books, ({ one }) => ({
  author: one(authors, { fields: [books.authorId], references: [authors.id] }),
}));

const { placeholder } = sql;

/** Prepared statements, as its page on performance says. */
export const serve = serveStore((url) => {
  const schema = { authors, books, authorRelations, bookRelations };
  const db = drizzle(new pg.Pool({ connectionString: url, max: poolSize }), { schema });
  const one = db
    .select()
    .from(books)
    .where(eq(books.id, placeholder("id")))
    .prepare("one");
  const list = db.select().from(books).orderBy(asc(books.id)).limit(placeholder("limit")).prepare("list");
  const { id, title, authorId, year, inStock, price, createdAt } = books;
  const join = db
    .select({ id, title, authorId, year, inStock, price, createdAt, author: authors })
    .from(books)
    .innerJoin(authors, eq(authors.id, books.authorId))
    .orderBy(asc(books.id))
    .limit(placeholder("limit"))
    .prepare("join");
  const add = db
    .insert(books)
    .values({
      title: placeholder("title"),
      authorId: placeholder("authorId"),
      year: placeholder("year"),
      inStock: placeholder("inStock"),
      price: placeholder("price"),
    })
    .returning()
    .prepare("add");
  const shelf = db.query.authors
    .findMany({
      with: { books: { orderBy: desc(books.id), limit: placeholder("newest") } },
      orderBy: asc(authors.id),
      limit: placeholder("limit"),
    })
    .prepare("shelf");
  return {
    authorsWithBooks: (limit, newest) => shelf.execute({ limit, newest }),
    addAuthor: ({ books: given, ...values }) =>
      db.transaction(async (tx) => {
        const [author] = await tx.insert(authors).values(values).returning();
        const made = given.map((each) => ({ ...each, authorId: author.id }));
        return { ...author, books: await tx.insert(books).values(made).returning() };
      }),
    book: async (id) => (await one.execute({ id }))[0],
    books: (limit) => list.execute({ limit }),
    booksWithAuthors: (limit) => join.execute({ limit }),
    addBook: async (values) => (await add.execute(values))[0],
  };
});
