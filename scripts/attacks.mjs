/**
 * Attacks an application in another process, one attack after the other, and prints a table: what was sent, the slowest
 * request of an honest client meanwhile, and the memory before and after. An attack has failed if the process is another
 * one, an honest request was not served, or more than 20 MB stay in the heap for 10 seconds. The exit code is then 1.
 *
 *     npm run attack [-- slow zero]      all of them, or those whose name contains one of the words
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import * as h2 from "../test/server/http2/frames.ts";
import { root } from "./process.mjs";
import { ensureBuilt } from "./setup.mjs";

await ensureBuilt({ types: false, log: () => {} });
const app = spawn(process.execPath, ["--expose-gc", `${root}scripts/fuzz/app.mjs`, "net", "http2"], {
  cwd: root,
  stdio: ["ignore", "pipe", "inherit"],
});
process.on("exit", () => app.kill("SIGKILL"));
let output = "";
// The log is in the output too.
while (!/^\{"port".*\n/m.test(output)) output += String((await once(app.stdout, "data"))[0]);
const { port, grpcPort, pid } = JSON.parse(/^\{"port".*$/m.exec(output)[0]);
app.stdout.resume();
const address = { host: "127.0.0.1", port };
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const times = (count, make) => Promise.all(Array.from({ length: count }, make));
/** The same from many clients at once. */
const each = async (count, attack) => (await times(count, attack)).reduce((a, b) => a + b);

/** Sends pieces over a connection until it is closed, they are all sent, or its time is up. Returns how many were sent. */
async function send(pieces, { reads = true, every = 0, last = 8000 } = {}) {
  const socket = connect(port, address.host).on("error", () => {});
  if (reads) socket.resume();
  const closed = once(socket, "close").catch(() => {});
  let sent = 0;
  const end = performance.now() + last;
  for (const piece of pieces) {
    if (socket.destroyed || performance.now() > end) break;
    const room = socket.write(piece);
    sent++;
    if (every > 0) await pause(every);
    else if (!room) await Promise.race([once(socket, "drain").catch(() => {}), closed, pause(last)]);
  }
  if (!socket.destroyed) await Promise.race([closed, pause(Math.max(0, end - performance.now()))]);
  socket.destroy();
  return sent;
}

/** Sends frames of HTTP/2 in batches until there are so many, or the server has closed the connection. */
async function flood(count, make, pairs = [], to = port) {
  const client = await h2.FrameClient.open({ ...address, port: to }, pairs);
  let sent = 0;
  for (; sent < count && !client.closed; sent += 100) {
    await client.sendAll(...Array.from({ length: 100 }, (_, i) => make(sent + i)));
    await new Promise(setImmediate);
  }
  if (!client.closed) await pause(1000);
  client.socket.destroy();
  return sent;
}

function* repeated(first, piece, count) {
  yield first;
  for (let i = 0; i < count; i++) yield piece;
}

const head = (line, ...fields) => [`${line} HTTP/1.1`, "Host: a", ...fields].join("\r\n");
const post = (path, body, ...fields) =>
  Buffer.concat([Buffer.from(`${head(`POST ${path}`, `Content-Length: ${body.length}`, ...fields)}\r\n\r\n`), body]);
const json = (path, text) => [post(path, Buffer.from(text), "Content-Type: application/json", "Connection: close")];
const bomb = [post("/packed", gzipSync(Buffer.alloc(20_000_000)), "Content-Encoding: gzip", "Connection: close")];
const page = `${head("GET /static/page.html")}\r\n\r\n`;
const posted = (field) => `${head("POST /upload", field)}\r\n\r\n`;
const wrongItems = JSON.stringify({ name: 1, tags: Array(90_000).fill(1) });
const slow = { every: 200 };
const stream = (i) => 2 * i + 1;
const reset = (i) => h2.frame(h2.RST_STREAM, 0, stream(i), h2.uint32(h2.CANCEL));
const first = (flags, block) => h2.frame(h2.HEADERS, flags, 1, block);
const more = h2.frame(h2.CONTINUATION, 0, 1, h2.fields([["x", "y"]]));

const graphql = (query) => each(20, () => send(json("/graphql", JSON.stringify({ query }))));
const listed = (count, make) => Array.from({ length: count }, (_, i) => make(i)).join(" ");

const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
const upgrade = `${head("GET /socket", "Connection: Upgrade", "Upgrade: websocket", key)}\r\n\r\n`;
/** A frame of up to 65,535 bytes, with a mask of zeros, so that they stay as they are. */
const webSocketFrame = (type, payload) => {
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0xfe, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(type, ...size, 0, 0, 0, 0), payload]);
};
const webSocket = (frame, options) => each(50, () => send(repeated(upgrade, frame, 3000), { last: 3000, ...options }));
const text = webSocketFrame(0x81, Buffer.alloc(10_000, "x"));

const call = [
  ["content-type", "application/grpc"],
  ["te", "trailers"],
];
const grpc = (id, flags = h2.END_HEADERS) =>
  h2.frame(h2.HEADERS, flags, id, h2.request("/fuzz.Echo/Say", "POST", call));
const grpcFlood = (count, make, pairs) => flood(count, make, pairs, grpcPort);
/** The head of a message of 4 GB, then bytes of it. */
const endless = (i) => h2.frame(h2.DATA, 0, 1, i === 1 ? Buffer.of(0, 255, 255, 255, 255) : Buffer.alloc(1000));
const metadata = h2.fields([["x", "y".repeat(4000)]]);

const attacks = {
  "slow heads": () => each(500, () => send(repeated(head("GET /"), "\r\nX: y", 100), slow)),
  "slow bodies": () => each(300, () => send(repeated(posted("Content-Length: 99999"), "x", 100), slow)),
  "heads of 1 MB": () => each(100, () => send(repeated(head("GET /"), `\r\nX: ${"y".repeat(10_000)}`, 100))),
  "responses that are not read": () => each(200, () => send(repeated("", page, 2000), { reads: false, last: 3000 })),
  "chunks of a byte": () =>
    each(20, () =>
      send(repeated(posted("Transfer-Encoding: chunked"), "1;x=y\r\nz\r\n".repeat(100), 200), { last: 3000 }),
    ),
  "bombs of gzip": () => each(50, () => send(bomb)),
  "deep JSON": () => each(50, () => send(json("/items", "[".repeat(100_000)))),
  "wrong items of JSON": () => each(20, () => send(json("/items", wrongItems))),
  "requests that leave": () => each(500, () => send([`${head("GET /stream")}\r\n\r\n`], { last: 5 })),
  "HTTP/2 rapid reset": () => flood(20_000, (i) => Buffer.concat([h2.get(stream(i), "/honest"), reset(i)])),
  "HTTP/2 PING": () => flood(50_000, () => h2.frame(h2.PING, 0, 0, Buffer.alloc(8))),
  "HTTP/2 SETTINGS": () => flood(50_000, () => h2.settings([[3, 100]])),
  "HTTP/2 CONTINUATION": () => flood(50_000, (i) => (i === 0 ? first(h2.END_STREAM, h2.request()) : more)),
  "HTTP/2 empty DATA": () =>
    flood(50_000, (i) => (i === 0 ? first(h2.END_HEADERS, h2.request("/raw", "POST")) : h2.frame(h2.DATA, 0, 1))),
  "HTTP/2 zero window": () => each(50, () => flood(100, (i) => h2.get(stream(i), "/static/page.html"), [[4, 0]])),
  "GraphQL depth": () => graphql(`{ me ${"{ friends ".repeat(10_000)}${"}".repeat(10_001)}`),
  "GraphQL lists": () => graphql(`{ me ${"{ friends ".repeat(11)}{ name }${"}".repeat(12)}`),
  "GraphQL aliases": () => graphql(`{ ${listed(10_000, (i) => `a${i}: me { name }`)} }`),
  "GraphQL repeated fields": () => graphql(`{ me { ${"name ".repeat(30_000)} } }`),
  "GraphQL fragments": () =>
    graphql(`{ me { ...f0 } } ${listed(1000, (i) => `fragment f${i} on User { ...f${(i + 1) % 1000} name }`)}`),
  "GraphQL directives": () => graphql(`{ me { name ${"@include(if: true) ".repeat(8000)} } }`),
  "WebSocket echoes not read": () => webSocket(text, { reads: false }),
  "WebSocket pings not read": () => webSocket(webSocketFrame(0x89, Buffer.alloc(100)), { reads: false }),
  "WebSocket fragments": () =>
    each(50, () => send(repeated(`${upgrade}\x01\x80\0\0\0\0`, Buffer.alloc(6000, "\0\x80\0\0\0\0"), 100))),
  "WebSocket length": () => webSocket(Buffer.of(0x82, 0xff, 0x3f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0)),
  "WebSocket bytes of text": () => webSocket(webSocketFrame(0x81, Buffer.alloc(1000, 0xff))),
  "gRPC rapid reset": () => grpcFlood(20_000, (i) => Buffer.concat([grpc(stream(i)), reset(i)])),
  "gRPC message of 4 GB": () => each(20, () => grpcFlood(10_000, (i) => (i === 0 ? grpc(1) : endless(i)))),
  "gRPC empty messages": () => grpcFlood(20_000, (i) => (i === 0 ? grpc(1) : h2.frame(h2.DATA, 0, 1, Buffer.alloc(5)))),
  "gRPC metadata": () => grpcFlood(10_000, (i) => (i === 0 ? grpc(1, 0) : h2.frame(h2.CONTINUATION, 0, 1, metadata))),
};

/** An honest request on its own connection; false if it was not served. */
const honest = async (path = "/honest") => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(10_000),
  });
  return response.ok ? response.json() : false;
};
const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

const words = process.argv.slice(2);
const chosen = Object.entries(attacks).filter(
  ([name]) => words.length === 0 || words.some((word) => name.includes(word)),
);
/** Bytes that an attack may leave in the heap. */
const most = 20e6;
const widths = [30, 8, 12, 12, 12, 12, 8];
const line = (...cells) => console.log(cells.map((cell, i) => String(cell).padEnd(widths[i])).join(" "));
await times(200, () => honest());
line("attack", "sent", "slowest ms", "RSS before", "RSS after", "heap kept", "verdict");
for (const [name, attack] of chosen) {
  const before = { rss: resident(), heap: (await honest("/kept")).heap };
  let running = true;
  let slowest = 0;
  let isServed = true;
  const client = (async () => {
    for (; running; await pause(20)) {
      const start = performance.now();
      isServed = (await honest().catch(() => false)) !== false && isServed;
      slowest = Math.max(slowest, performance.now() - start);
    }
  })();
  const sent = await attack();
  running = false;
  await client;
  const isAlive = app.exitCode === null && app.signalCode === null;
  let kept = Infinity;
  // The server may not have noticed yet that all have left.
  for (let i = 0; isAlive && isServed && kept > most && i < 20; i++, await pause(500)) {
    kept = (await honest("/kept")).heap - before.heap;
  }
  const isHeld = kept <= most;
  const figures = isAlive ? [slowest, before.rss, resident(), kept / 1e6].map((number) => number.toFixed(0)) : [];
  line(name, sent, ...figures, isHeld ? "held" : "FAILED");
  if (!isHeld) process.exitCode = 1;
  if (!isAlive) break;
}
process.exit();
