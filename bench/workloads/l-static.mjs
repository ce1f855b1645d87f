import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const directory = join(process.env.BENCH_FOLDER ?? "", "public");
const value = "x".repeat(100 * 1024);

/** A file of 100 KiB; Fastify with @fastify/static. */
export default {
  key: "l",
  name: "static",
  kind: "static",
  method: "GET",
  path: "/static/file.txt",
  value,
  directory,
  peers: ["stoa", "fastify"],
  async prepare() {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "file.txt"), value);
  },
};
