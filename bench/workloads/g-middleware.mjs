/** Middleware that does nothing: the cost of each further one. The other variants are compared with the first. */
export default {
  key: "g",
  name: "middleware",
  kind: "middleware",
  method: "GET",
  path: "/json",
  value: { hello: "world" },
  peers: ["stoa", "fastify", "hono"],
  variants: [
    { label: "none", count: 0 },
    { label: "1", count: 1 },
    { label: "5", count: 5 },
    { label: "20", count: 20 },
    { label: "20 as functions that call next", count: 20, form: "function", peers: ["stoa"] },
  ],
};
