import { DataSource, EntitySchema } from "typeorm";
import { poolSize, serveStore } from "../lib/store-server.mjs";

class Author {}
class Book {}

const authorSchema = new EntitySchema({
  name: "Author",
  target: Author,
  tableName: "authors",
  columns: {
    id: { type: "int", primary: true, generated: "identity" },
    name: { type: "varchar", length: 100 },
    country: { type: "varchar", length: 2 },
  },
});

const bookSchema = new EntitySchema({
  name: "Book",
  target: Book,
  tableName: "books",
  columns: {
    id: { type: "int", primary: true, generated: "identity" },
    title: { type: "varchar", length: 200 },
    authorId: { type: "int", name: "author_id" },
    year: { type: "int", nullable: true },
    inStock: { type: "boolean", name: "in_stock" },
    price: { type: "double precision" },
    createdAt: { type: "timestamptz", precision: 3, name: "created_at", createDate: true },
  },
  relations: {
    author: { type: "many-to-one", target: "Author", joinColumn: { name: "author_id" } },
  },
});

/**
 * `insert`, not `save`, which opens a transaction; and a query builder with `limit` for the join, where `take` would
 * send two queries.
 */
export const serve = serveStore(async (url) => {
  const source = new DataSource({ type: "postgres", url, poolSize, entities: [authorSchema, bookSchema] });
  await source.initialize();
  const repository = source.getRepository(Book);
  const authors = source.getRepository(Author);
  return {
    /** It has no limit for each owner: a query for each author, all at once. */
    async authorsWithBooks(limit, newest) {
      const found = await authors.find({ order: { id: "ASC" }, take: limit });
      return Promise.all(
        found.map(async (author) => {
          const books = await repository.find({ where: { authorId: author.id }, order: { id: "DESC" }, take: newest });
          return { ...author, books };
        }),
      );
    },
    addAuthor: ({ books, ...values }) =>
      source.transaction(async (manager) => {
        const author = { ...values };
        await manager.insert(Author, author);
        const rows = books.map((each) => ({ ...each, authorId: author.id }));
        await manager.insert(Book, rows);
        return { ...author, books: rows };
      }),
    book: (id) => repository.findOneBy({ id }),
    books: (limit) => repository.find({ order: { id: "ASC" }, take: limit }),
    booksWithAuthors: (limit) =>
      repository
        .createQueryBuilder("book")
        .innerJoinAndSelect("book.author", "author")
        .orderBy("book.id")
        .limit(limit)
        .getMany(),
    async addBook(values) {
      const { generatedMaps } = await repository.insert(values);
      const [{ id, createdAt }] = generatedMaps;
      const { title, authorId, year, inStock, price } = values;
      return { id, title, authorId, year, inStock, price, createdAt };
    },
  };
});
