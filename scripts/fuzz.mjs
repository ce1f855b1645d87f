/**
 * Sends mutated requests to an application with all batteries on: cut into random pieces, pipelined, with connections
 * that are reset, half closed or left without reading. Afterwards the application must still be the same process, handle
 * honest requests, hold no request in flight and none in memory, and end cleanly.
 *
 *     node scripts/fuzz.mjs [--count 100000] [--seed 1] [--transport net|node|native] [--connections 32]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensureBuilt } from "./setup.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    transport: { type: "string", default: "net" },
    connections: { type: "string", default: "32" },
  },
});
const count = Number(values.count);
const random = seeded(Number(values.seed));
const pick = (list) => list[Math.floor(random() * list.length)];
const upTo = (limit) => Math.floor(random() * limit);

await ensureBuilt({ log: () => {} });
const app = spawn(process.execPath, ["--expose-gc", `${root}scripts/fuzz/app.mjs`, values.transport], {
  cwd: root,
  stdio: ["ignore", "pipe", "pipe"],
});
const ended = once(app, "exit");
let output = "";
let faults = "";
app.stdout.setEncoding("utf8").on("data", (text) => (output = (output + text).slice(-100_000)));
app.stderr.setEncoding("utf8").on("data", (text) => (faults = (faults + text).slice(-100_000)));
const { port } = JSON.parse(await lineOf(app.stdout));
const problems = [];
const onExit = (code, signal) => problems.push(`the application ended by itself: code ${code}, signal ${signal}`);
app.once("exit", onExit);

const telling = [
  "\r\n",
  "\n",
  "\0",
  "\t",
  " ",
  ":",
  ",",
  ";",
  "%",
  "\xff",
  "0",
  "-1",
  "chunked",
  "HTTP/1.0",
  "\r\n\r\n",
];
const fields = [
  "Content-Length: 3",
  "Transfer-Encoding: chunked",
  "Connection: close",
  "Connection: upgrade",
  "Upgrade: h2c",
  "Content-Encoding: br",
  "Expect: 100-continue",
  "Accept-Encoding: br;q=1, *;q=0",
  "Range: bytes=5-1,0-",
  "If-Modified-Since: never",
  "traceparent: 00-zz",
  "baggage: a=b",
  "Origin: null",
  "X-Request-ID: a",
  "Cookie: a=b; a=c",
  "Authorization: Basic x",
];
const seeds = [...requestTexts(), ...corpus()];
const memory = [];
const heap = [];
let sent = 0;
let statuses = 0;
let nextLook = 0;
const begun = performance.now();
await Promise.all(Array.from({ length: Number(values.connections) }, () => client()));
await look();
const idle = await settled();
const kept = await forgotten();
app.off("exit", onExit);
if (app.exitCode === null) {
  app.kill("SIGTERM");
  const [code, signal] = await ended;
  if (code !== 0) problems.push(`the end was not clean: code ${code}, signal ${signal}`);
}
for (const line of (output + faults).split("\n")) {
  if (/uncaught|unhandled/i.test(line)) problems.push(`an uncaught error is in the log: ${line.slice(0, 2000)}`);
}
const seconds = (performance.now() - begun) / 1000;
console.log(`${sent} requests in ${seconds.toFixed(0)} s on the ${values.transport} transport, seed ${values.seed}`);
console.log(`${statuses} responses began; in flight at the end: ${idle}; requests in memory at the end: ${kept}`);
console.log(`resident memory in MB: ${memory.join(" ")}`);
console.log(`heap after a collection in MB: ${heap.join(" ")}`);
for (const problem of problems) console.log(`PROBLEM: ${problem}`);
if (problems.length > 0 && faults !== "") console.log(faults.slice(-2000));
console.log(problems.length === 0 ? "no problem" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

/** One client after the other until all requests are sent. */
async function client() {
  while (sent < count && problems.length === 0) {
    if (sent >= nextLook) await look();
    await connection();
  }
}

/** One connection with some requests, ended in one of several ways. */
function connection() {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const requests = Array.from({ length: 1 + upTo(8) }, () => (random() < 0.3 ? pick(seeds) : mutate(pick(seeds))));
    sent += requests.length;
    const bytes = Buffer.from(requests.join(""), "latin1");
    const ending = pick(["wait", "wait", "wait", "end", "reset", "reset later", "deaf"]);
    const limit = setTimeout(() => socket.destroy(), ending === "deaf" ? 50 : 400);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(limit);
      resolve();
    });
    if (ending === "deaf") socket.pause();
    else socket.on("data", (chunk) => (statuses += chunk.includes("HTTP/1.1 ") ? 1 : 0));
    socket.on("end", () => socket.end());
    let at = 0;
    const write = () => {
      if (socket.destroyed) return;
      if (at >= bytes.length) {
        if (ending === "end") socket.end();
        else if (ending === "reset later") setImmediate(() => socket.resetAndDestroy());
        return;
      }
      const size = random() < 0.5 ? bytes.length : 1 + upTo(200);
      socket.write(bytes.subarray(at, at + size));
      at += size;
      if (ending === "reset" && random() < 0.5) socket.resetAndDestroy();
      else setImmediate(write);
    };
    socket.on("connect", write);
  });
}

/** An honest client: the application must respond, and its memory is noted. */
async function look() {
  nextLook = sent + Math.max(10_000, Math.floor(count / 20));
  try {
    const response = await fetch(`http://127.0.0.1:${port}/honest`, { signal: AbortSignal.timeout(20_000) });
    if (response.status !== 200) problems.push(`an honest request got ${response.status}`);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    memory.push(Math.round(Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1] ?? 0) / 1e6));
    heap.push(((await keptNow()).heap / 1e6).toFixed(1));
  } catch (error) {
    problems.push(`an honest request failed: ${error.message}`);
  }
}

/** Waits until the application holds no request but the one that asks; gives the number that is left. */
async function settled() {
  let inFlight = Number.NaN;
  for (let i = 0; i < 60 && problems.length === 0; i++) {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    inFlight = Number(/^framework_http_requests_in_flight (\S+)/m.exec(metrics)?.[1]);
    if (inFlight <= 1) return inFlight;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  problems.push(`${inFlight} requests are in flight a minute after the last client has left`);
  return inFlight;
}

/** Waits until the application has but a few requests in memory; gives the number that is left. */
async function forgotten() {
  let left = Number.NaN;
  for (let i = 0; i < 60 && problems.length === 0; i++) {
    left = (await keptNow()).kept;
    // Connections that are kept alive, and parsers of node:http that wait for their next use, hold a few.
    if (left <= 32) return left;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  problems.push(`${left} requests are in memory a minute after the last client has left`);
  return left;
}

async function keptNow() {
  return (await fetch(`http://127.0.0.1:${port}/kept`)).json();
}

function mutate(text) {
  let changed = text;
  for (let changes = 1 + upTo(4); changes > 0; changes--) {
    const at = upTo(changed.length + 1);
    const length = 1 + upTo(10);
    const kind = upTo(6);
    if (kind === 0) changed = changed.slice(0, at) + pick(telling) + changed.slice(at);
    else if (kind === 1) changed = changed.slice(0, at) + changed.slice(at + length);
    else if (kind === 2)
      changed = changed.slice(0, at) + changed.slice(at, at + length).repeat(1 + upTo(50)) + changed.slice(at);
    else if (kind === 3) changed = changed.slice(0, at) + String.fromCharCode(upTo(256)) + changed.slice(at + 1);
    else if (kind === 4) changed = changed.slice(0, at) + pick(seeds).slice(upTo(60));
    else changed = changed.replace("\r\n", `\r\n${pick(fields)}\r\n`);
  }
  return changed;
}

function requestTexts() {
  const get = (path, more = "") => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;
  const post = (path, type, body, more = "") =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;
  const chunked = (path, body) =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const multipart = '--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n';
  const paths = [
    "/honest",
    "/items/5",
    "/items/x",
    "/search?q=a&q=b",
    "/static/page.html",
    "/stream",
    "/events",
    "/session",
  ];
  paths.push(
    "/throws",
    "/broken",
    "/closed/a/b",
    "/docs",
    "/openapi.json",
    "/health",
    "/nothing",
    "/%2e%2e/etc",
    "/search?q=%ff%zz",
  );
  return [
    ...paths.flatMap((path) => [
      get(path),
      get(path, "Accept-Encoding: gzip\r\nIf-None-Match: *\r\n"),
      get(path, "Range: bytes=0-10\r\n"),
    ]),
    post("/items", "application/json", '{"name":"a","tags":["b"]}'),
    post("/items", "application/json", `{"name":${"[".repeat(300)}`),
    post("/form", "application/x-www-form-urlencoded", `a=1&${"%zz=".repeat(500)}`),
    post("/form", "multipart/form-data; boundary=b", multipart),
    post("/raw", "application/octet-stream", "x".repeat(5000)),
    post("/raw", "text/plain", "x", "Expect: 100-continue\r\n"),
    post("/raw", "text/plain", "x", "Content-Encoding: gzip\r\n"),
    chunked("/upload", "y".repeat(300)),
    chunked("/raw", "z".repeat(30)),
    get(
      "/socket",
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
    ),
    "OPTIONS /items HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    "FROB /items HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    get("/closed/x", "Authorization: Bearer a.b.c\r\n"),
    get("/session", `Cookie: session=${"a".repeat(300)}; x\r\n`),
  ];
}

function corpus() {
  const folder = new URL("../test/server/corpus/", import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".http"))
    .map((name) => readFileSync(new URL(name, folder), "latin1"));
}

async function lineOf(stream) {
  while (!output.includes("\n") && app.exitCode === null) await Promise.race([once(stream, "data"), ended]);
  const line = output.split("\n").find((text) => text.startsWith('{"port"'));
  if (line === undefined) throw new Error(`the application did not start: ${output}${faults}`);
  return line;
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
