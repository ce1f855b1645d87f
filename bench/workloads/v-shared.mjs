import batteries from "./f-batteries.mjs";

/** The features of a typical service with the limit in Redis, compared with Fastify and its plugins; see bench/README.md. */
export default {
  ...batteries,
  key: "v",
  name: "batteries with Redis",
  kind: "shared",
  needs: "redis",
  peers: ["stoa"],
};
