import { execFile } from "node:child_process";
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
