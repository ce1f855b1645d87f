const size = 10 * 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, "x");

/**
 * 10 MiB in pieces of 64 KiB. Counted in bytes: with few responses a second, the unfinished ones would distort the
 * result.
 */
export default {
  key: "i",
  name: "stream",
  kind: "stream",
  method: "GET",
  path: "/stream",
  value: "x".repeat(size),
  size,
  connections: 4,
  peers: ["stoa", "fastify", "hono"],
  async *chunks() {
    for (let sent = 0; sent < size; sent += chunk.length) yield chunk;
  },
};
