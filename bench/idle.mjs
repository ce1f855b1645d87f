/** The memory of connections that wait, after one request each: `npm run build && node bench/idle.mjs native 10000`. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";

const [transport = "native", count = "10000"] = process.argv.slice(2);
const port = 9100 + (process.pid % 500);
const entry = new URL("../dist/entry/index.js", import.meta.url).href;
const program = `
  import { App } from "${entry}";
  const app = new App();
  app.get("/", () => "hello");
  app.get("/collect", () => (gc(), gc(), "done"));
  app.run({ port: ${port}, env: "production", workers: 1, logs: false, transport: "${transport}", keepAliveTimeout: 600 });`;
const args = ["--expose-gc", "--input-type=module", "--eval", program];
const server = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
process.on("exit", () => server.kill("SIGKILL"));

while (!(await ask("/").catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 100));
for (let n = 0; n < 300; n++) (await ask("/")).destroy();
// The first ones fill room that the heap has anyway.
await open(Number(count) / 5);
const before = await memory();
await open(Number(count));
const each = ((await memory()) - before) / Number(count);
console.log(`${transport}: ${each.toFixed(1)} KiB for each of ${count} connections`);
process.exit();

async function open(connections) {
  for (let n = 0; n < connections; n += 100) await Promise.all(Array.from({ length: 100 }, () => ask("/")));
}

/** Resolves to the connection when the response has begun to arrive. */
function ask(path) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1").on("error", reject);
    socket.once("data", () => resolve(socket));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}

/** KiB that the server has, without garbage. */
async function memory() {
  for (let n = 0; n < 3; n++) (await ask("/collect")).destroy();
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]);
}
