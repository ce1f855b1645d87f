/**
 * Judges HTTP/1.1 by the cases of uNetworking/h1spec, against one of the two transports. The suite is written for Deno; the few
 * functions of Deno that it calls are given to it here.
 *
 *     npm run build && node --import tsx scripts/judges/http1.mjs <folder of h1spec> [net|node]
 */
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const suite = pathToFileURL(join(resolve(process.argv[2]), "http_test.ts")).href;
const { App } = await import(new URL("../../dist/entry/index.js", import.meta.url).href);

const app = new App();
// The suite wants every body back, at any path.
app.route("/{rest:*}", ["GET", "POST"], (request) => request.text());
app.route("/", ["GET", "POST"], (request) => request.text());
// In development an application responds to local hosts only, and the suite calls it example.com.
const env = { env: "production", workers: 1, exit: false, logs: false };
const server = await app.run({ port: 0, transport: process.argv[3] ?? "net", ...env });
await judge(server.address.port);
await server.close();
process.exit();

/** Resolves when the suite prints its total. */
async function judge(port) {
  const print = console.log;
  await new Promise((done) => {
    console.log = (text) => {
      print(text);
      if (/tests passed/.test(text)) done();
    };
    const exit = () => {
      process.exitCode = 1;
    };
    globalThis.Deno = { args: ["127.0.0.1", String(port)], exit, connect: open };
    import(suite);
  });
  console.log = print;
}

async function open({ hostname, port }) {
  const socket = connect(port, hostname);
  await new Promise((connected) => socket.once("connect", connected));
  let left = false;
  const first = new Promise((resolve) => {
    socket.once("data", resolve).on("error", () => {});
    socket.once("close", () => left || resolve(null));
  });
  return {
    write: (bytes) => socket.write(bytes),
    async read(buffer) {
      const bytes = await first;
      if (bytes === null) return null;
      buffer.set(bytes.subarray(0, buffer.length));
      return Math.min(bytes.length, buffer.length);
    },
    close() {
      left = true;
      socket.destroy();
    },
  };
}
