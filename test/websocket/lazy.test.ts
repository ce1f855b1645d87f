import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = `
  import { createRequire } from "node:module";
  import { App } from "./src/index.ts";
  const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((path) => /node_modules.ws.lib/.test(path));
  const plain = new App();
  plain.get("/", () => "hello");
  await plain.request("/");
  const before = loaded();
  const app = new App();
  app.websocket("/ws", () => {});
  await app.start();
  console.log(JSON.stringify({ before, after: loaded() }));
`;

it("ws is loaded by the start of an application with a WebSocket route, and by nothing else", async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { cwd: new URL("../..", import.meta.url) },
  );
  expect(JSON.parse(stdout)).toEqual({ before: false, after: true });
});
