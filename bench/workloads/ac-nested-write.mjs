import { isDeepStrictEqual } from "node:util";
import { newAuthor } from "../lib/library.mjs";

/** One row is inserted together with three rows that refer to it, in one transaction, and all of them come back. */
export default {
  key: "ac",
  name: "nested write",
  group: "orm",
  kind: "nestedWrite",
  method: "POST",
  path: "/authors",
  body: { type: "application/json", text: JSON.stringify(newAuthor) },
  value(text) {
    const { id, name, country, books } = JSON.parse(text);
    const recent = (time) => Math.abs(Date.now() - Date.parse(time)) < 60_000;
    const isNew = (book, at) =>
      Number.isInteger(book.id) &&
      recent(book.createdAt) &&
      isDeepStrictEqual(book, { id: book.id, ...newAuthor.books[at], authorId: id, createdAt: book.createdAt });
    const { books: given, ...own } = newAuthor;
    return (
      Number.isInteger(id) &&
      isDeepStrictEqual({ name, country }, own) &&
      books.length === given.length &&
      books.every(isNew)
    );
  },
};
