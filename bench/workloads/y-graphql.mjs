import { bookData, bookQuery, querying } from "../lib/graphql-books.mjs";

/** 20 books with their authors, compared with Mercurius on Fastify, which compiles queries (`jit: 1`). */
export default { key: "y", name: "graphql", base: "fastify", peers: ["stoa"], ...querying(bookQuery, bookData) };
