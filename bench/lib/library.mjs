/**
 * The data of the database workloads. It is known here, so that every response can be compared with it byte by byte.
 */

import { isDeepStrictEqual } from "node:util";

export const authorCount = 200;
export const bookCount = 10_000;
/**
 * Authors in the table, most of them without books. For fewer rows PostgreSQL checks a foreign key by reading the whole table,
 * and keeps that plan in the session while the nested writes add thousands of rows.
 */
export const authorRows = 2000;

export function author(id) {
  return { id, name: `Author number ${id}`, country: ["DE", "FR", "GR", "JP", "US"][id % 5] };
}

export function book(id) {
  return {
    id,
    title: `A book of the library, number ${id}`,
    authorId: 1 + ((id * 7) % authorCount),
    year: id % 10 === 0 ? null : 1900 + (id % 120),
    inStock: id % 3 !== 0,
    price: 5 + (id % 200) / 4,
    createdAt: new Date(Date.UTC(2024, 0, 1) + id * 61_003).toISOString(),
  };
}

export const bookWithAuthor = (id) => ({ ...book(id), author: author(book(id).authorId) });

/** An author with the newest books, those with the highest keys. */
export function authorWithBooks(id, newest) {
  const books = [];
  for (let key = bookCount; books.length < newest; key--) if (book(key).authorId === id) books.push(book(key));
  return { ...author(id), books };
}

/** The body that the insert workload sends. */
export const newBook = {
  title: "A book that was not there before",
  authorId: 7,
  year: 2024,
  inStock: true,
  price: 12.5,
};

/** The body that the workload of nested writes sends. */
export const newAuthor = {
  name: "An author who was not there before",
  country: "GR",
  books: [1, 2, 3].map((n) => ({ title: `New book ${n}`, year: 2020 + n, inStock: n !== 2, price: 10.25 * n })),
};

/**
 * Returns a function that is true for this JSON, byte by byte except for the order of the keys, which not every
 * contestant can choose.
 */
export function sameJson(value) {
  const { length } = JSON.stringify(value);
  return (text) => text.length === length && isDeepStrictEqual(JSON.parse(text), value);
}
