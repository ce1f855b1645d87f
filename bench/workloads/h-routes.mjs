import params from "./c-params.mjs";

const others = (count) => Array.from({ length: count }, (_, n) => `/collection${n}/{id}/parts/{part}`);

/** The lookup among few and among many routes: the second variant is compared with the first. */
export default {
  ...params,
  key: "h",
  name: "routes",
  peers: ["stoa", "fastify", "hono"],
  variants: [
    { label: "10 routes", others: others(9) },
    { label: "1,000 routes", others: others(999) },
  ],
};
