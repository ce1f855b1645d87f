import { bookData, bookQuery, querying } from "../lib/graphql-books.mjs";

/** 20 books with their authors, compared with GraphQL Yoga on node:http. */
export default { key: "w", name: "graphql yoga", peers: ["stoa"], ...querying(bookQuery, bookData) };
