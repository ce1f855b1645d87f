import { createRequire } from "node:module";
import { PrismaPg } from "@prisma/adapter-pg";
import { clientFolder } from "../lib/prisma-client.mjs";
import { poolSize, serveStore } from "../lib/store-server.mjs";

/** Through the adapter for node-postgres, which prepares statements when it is given names for them. */
export const serve = serveStore((url) => {
  const { PrismaClient } = createRequire(import.meta.url)(clientFolder());
  const adapter = new PrismaPg({ connectionString: url, max: poolSize }, { statementNameGenerator });
  const { author, book } = new PrismaClient({ adapter });
  return {
    book: (id) => book.findUnique({ where: { id } }),
    books: (take) => book.findMany({ orderBy: { id: "asc" }, take }),
    booksWithAuthors: (take) => book.findMany({ include: { author: true }, orderBy: { id: "asc" }, take }),
    authorsWithBooks: (take, newest) =>
      author.findMany({ include: { books: { orderBy: { id: "desc" }, take: newest } }, orderBy: { id: "asc" }, take }),
    addAuthor: ({ books, ...data }) =>
      author.create({ data: { ...data, books: { create: books } }, include: { books: true } }),
    addBook: (data) => book.create({ data }),
  };
});

const names = new Map();

function statementNameGenerator({ sql }) {
  let name = names.get(sql);
  if (name === undefined) names.set(sql, (name = `s${names.size}`));
  return name;
}
