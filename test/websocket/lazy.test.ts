import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { sourceUrl } from "../support/source-url.js";

const script = `
  import { once } from "node:events";
  import { createRequire } from "node:module";
  import { connect } from "node:net";
  import { App } from ${JSON.stringify(sourceUrl("entry/index.ts"))};
  const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((path) => /node_modules.ws.lib/.test(path));
  const plain = new App();
  plain.get("/", () => "hello");
  await plain.request("/");
  const before = loaded();
  const app = new App();
  app.websocket("/ws", () => {});
  const server = await app.run({ port: 0, host: "127.0.0.1", logs: false, exit: false });
  const started = loaded();
  const handshake = "GET /ws HTTP/1.1\\r\\nHost: a\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n" +
    "Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n";
  const socket = connect(server.address.port, "127.0.0.1");
  socket.write(handshake);
  const [answer] = await once(socket, "data");
  console.log(JSON.stringify({ before, started, answer: answer.toString("latin1", 9, 12), after: loaded() }));
  process.exit();
`;

it("The package ws is loaded when the first client opens a WebSocket, and not before", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: new URL("../..", import.meta.url),
  });
  expect(JSON.parse(stdout)).toEqual({ before: false, started: false, answer: "101", after: true });
});
