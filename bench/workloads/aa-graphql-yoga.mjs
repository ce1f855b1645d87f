import { bookData, bookQuery, querying } from "../lib/graphql-books.mjs";

/** 20 books with their authors, compared with GraphQL Yoga on node:http. */
export default { key: "aa", name: "graphql yoga", peers: ["stoa"], ...querying(bookQuery, bookData) };
