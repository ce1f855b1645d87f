import { querying } from "../lib/graphql-books.mjs";

/** The smallest query, compared with Mercurius on Fastify. */
export default {
  key: "z",
  name: "graphql hello",
  base: "fastify",
  peers: ["stoa"],
  ...querying("{ hello }", { hello: "world" }),
};
