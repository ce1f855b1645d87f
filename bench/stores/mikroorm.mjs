import { EntitySchema, MikroORM } from "@mikro-orm/postgresql";
import { poolSize, serveStore } from "../lib/store-server.mjs";

class Author {}
class Book {}
class BookWithAuthor {}

const authorSchema = new EntitySchema({
  class: Author,
  tableName: "authors",
  properties: {
    id: { type: "integer", primary: true },
    name: { type: "string", length: 100 },
    country: { type: "string", length: 2 },
  },
});

const properties = {
  id: { type: "integer", primary: true },
  title: { type: "string", length: 200 },
  authorId: { type: "integer" },
  year: { type: "integer", nullable: true },
  inStock: { type: "boolean" },
  price: { type: "double" },
  createdAt: { type: "datetime", length: 3, defaultRaw: "now()" },
};

const bookSchema = new EntitySchema({ class: Book, tableName: "books", properties });

/** The same table with the relation. A class of its own, because the relation would otherwise be in every response. */
const joinedSchema = new EntitySchema({
  class: BookWithAuthor,
  tableName: "books",
  properties: {
    ...properties,
    authorId: { type: "integer", persist: false },
    author: { kind: "m:1", entity: () => Author, fieldName: "author_id" },
  },
});

/**
 * An entity manager for each request, as its guide demands. Reads do not fill its identity map, which nobody looks into
 * afterwards, and there is no transaction around a flush of one row.
 */
export const serve = serveStore(async (url) => {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [authorSchema, bookSchema, joinedSchema],
    pool: { min: 0, max: poolSize },
    implicitTransactions: false,
    discovery: { checkDuplicateTableNames: false },
  });
  return { fork: () => callsOf(orm.em.fork()) };
});

const readOnly = { disableIdentityMap: true };
const inOrder = { ...readOnly, orderBy: { id: "asc" } };

function callsOf(em) {
  return {
    book: (id) => em.findOne(Book, id, readOnly),
    books: (limit) => em.find(Book, {}, { ...inOrder, limit }),
    booksWithAuthors: (limit) =>
      em.find(BookWithAuthor, {}, { ...inOrder, limit, populate: ["author"], strategy: "joined" }),
    /** It has no limit for each owner: a query for each author, all at once. */
    async authorsWithBooks(limit, newest) {
      const authors = await em.find(Author, {}, { ...inOrder, limit });
      return Promise.all(
        authors.map(async (author) => {
          const books = await em.find(
            Book,
            { authorId: author.id },
            { ...readOnly, orderBy: { id: "desc" }, limit: newest },
          );
          return { ...author, books };
        }),
      );
    },
    addAuthor: ({ books: given, ...values }) =>
      em.transactional(async (tx) => {
        const author = tx.create(Author, values);
        await tx.flush();
        const books = given.map((each) => tx.create(Book, { ...each, authorId: author.id }));
        await tx.flush();
        return { id: author.id, ...values, books };
      }),
    async addBook(values) {
      const book = em.create(Book, values);
      em.persist(book);
      await em.flush();
      return book;
    },
  };
}
