import { isAscii } from "node:buffer";
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";

const script = `
  import { App } from "stoa";
  const app = new App();
  app.get("/", () => "hello");
  const server = await app.run({ port: 0, host: "127.0.0.1", logs: false, exit: false });
  await new Promise((resolve) => import("node:net").then(({ connect }) =>
    connect(server.address.port, "127.0.0.1").end("GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n").on("data", resolve)));
  const loaded = process.moduleLoadList.filter((name) => /^NativeModule (crypto|tls|http|zlib)$/.test(name));
  console.log(JSON.stringify(loaded));
  process.exit();
`;

beforeAll(() => ensureBuilt(() => {}), 120_000);

it("a small application starts and answers without the large modules of Node that it does not need", async () => {
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual([]);
});

it("the code of the package is ASCII, which is read faster", async () => {
  const dist = new URL("../../dist/", import.meta.url);
  const files = (await readdir(dist, { recursive: true })).filter(
    (name) => name.endsWith(".js") && !name.includes("assets"),
  );
  expect(files.length).toBeGreaterThan(10);
  for (const name of files) expect(isAscii(await readFile(new URL(name, dist))), name).toBe(true);
});
