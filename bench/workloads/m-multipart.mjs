const size = 1024 * 1024;
const lines = [
  "--the-boundary",
  'Content-Disposition: form-data; name="file"; filename="file.bin"',
  "Content-Type: application/octet-stream",
  "",
  "x".repeat(size),
  "--the-boundary--",
  "",
];

/** A form with one file of 1 MiB, read piece by piece: against Fastify with @fastify/multipart. */
export default {
  key: "m",
  name: "multipart",
  kind: "multipart",
  method: "POST",
  path: "/upload",
  body: { type: "multipart/form-data; boundary=the-boundary", text: lines.join("\r\n") },
  value: { name: "file.bin", size },
  connections: 8,
  base: "fastify",
  peers: ["stoa", "hono"],
};
