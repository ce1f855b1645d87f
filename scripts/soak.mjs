/**
 * A soak: requests that are all different, for a time, against an application with two workers. Each has its own path,
 * client, session, room and GraphQL document. The time begins after as many requests as fill everything that has a bound,
 * however slow the machine is. Prints the memory of the supervisor and of each worker after a collection, at ten times, and
 * how much it grew in the last half. The exit code is 1 if one of them grew by more than 1 MB there or was replaced, or if a
 * request failed.
 *
 *     node scripts/soak.mjs [seconds]      600 unless given
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { Agent, request } from "node:http";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { root } from "./process.mjs";
import { ensureBuilt } from "./setup.mjs";

const seconds = Number(process.argv[2] ?? 600);
const interval = Math.max(1000, (seconds * 1000) / 60);
const clients = 16;
/**
 * Requests before the time begins. Per worker that is 3000 of each kind, three times the largest bound of the application;
 * after it the functions that they call have been compiled too.
 */
const filling = 2 * 3000 * 7;
const mega = (bytes) => (bytes / 1e6).toFixed(1);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

await ensureBuilt({ types: false, log: () => {} });
const port = await freePort();
const app = spawn(process.execPath, ["--expose-gc", `${root}scripts/soak/app.mjs`], {
  cwd: root,
  stdio: ["ignore", "pipe", "inherit"],
  env: { ...process.env, SOAK_PORT: String(port), SOAK_INTERVAL: String(interval) },
});
process.on("exit", () => app.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** The samples of each process: [seconds since the start, bytes in use, resident bytes]. */
const samples = new Map();
let begin = Number.POSITIVE_INFINITY;
createInterface(app.stdout).on("line", (line) => {
  const { role, used, rss } = JSON.parse(line);
  if (performance.now() < begin) return;
  if (!samples.has(role)) samples.set(role, []);
  samples.get(role).push([(performance.now() - begin) / 1000, used, rss]);
});

const agent = new Agent({ keepAlive: true, maxSockets: clients });
const counts = { requests: 0, failed: 0 };
let next = 0;
for (let i = 0; (await send({ path: "/health/live" })) !== 200; i++) {
  if (i > 300) throw new Error("the application does not start");
  await pause(100);
}
await Promise.all(Array.from({ length: clients }, () => load(() => counts.requests < filling)));
begin = performance.now();
const end = begin + seconds * 1000;
await Promise.all(Array.from({ length: clients }, () => load(() => performance.now() < end)));
const replaced = [...samples.keys()].filter((role) => !["supervisor", "worker 1", "worker 2"].includes(role));
const grown = [...samples].map(([role, list]) => report(role, list));
console.log(`${counts.requests - filling} requests in ${seconds} s, after ${filling}; ${counts.failed} failed`);
if (replaced.length > 0) console.log(`workers were replaced, by ${replaced.join(" and ")}: the others have ended`);
process.exitCode =
  counts.failed > 0 || samples.size !== 3 || replaced.length > 0 || grown.some((bytes) => bytes > 1e6) ? 1 : 0;
app.kill("SIGTERM");

async function load(goesOn) {
  while (goesOn()) {
    const id = `${next++}-${Math.random().toString(36).slice(2)}`;
    const query = `query Q${next} { echo(text: "${id}") }`;
    // Long, so that few documents fill the memory for those that clients register.
    const registered = `${query} #${"x".repeat(5000)}`;
    const sha256Hash = createHash("sha256").update(registered).digest("hex");
    const extensions = { persistedQuery: { version: 1, sha256Hash } };
    for (const [one, expected] of [
      [{ path: `/items/${id}?q=${id}`, headers: { "x-client": id } }, 200],
      [{ path: `/sessions/${id}` }, 200],
      [{ path: `/missing/${id}` }, 404],
      [{ path: `/failing/${id}` }, 500],
      [{ path: `/rooms/${id}`, method: "POST" }, 200],
      [{ path: "/graphql", method: "POST", body: { query } }, 200],
      [{ path: "/graphql", method: "POST", body: { query: registered, extensions } }, 200],
    ]) {
      counts.requests++;
      if ((await send(one)) !== expected) counts.failed++;
    }
  }
}

/** The status of the response; 0 without one. */
function send({ path, method = "GET", headers = {}, body }) {
  return new Promise((resolve) => {
    const text = body === undefined ? "" : JSON.stringify(body);
    const fields = {
      ...headers,
      ...(body && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    };
    const sent = request({ host: "127.0.0.1", port, path, method, headers: fields, agent }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    sent.on("error", () => resolve(0));
    sent.end(text);
  });
}

/** Prints the memory of a process. Returns how many bytes it grew in the last half, by the line that fits the samples best. */
function report(role, list) {
  const shown = Array.from({ length: 10 }, (_, i) => list[Math.floor(((i + 1) * list.length) / 10) - 1]).filter(
    Boolean,
  );
  const last = list.slice(Math.floor(list.length / 2));
  const [x, y] = [0, 1].map((place) => last.reduce((sum, sample) => sum + sample[place], 0) / last.length);
  const over = last.reduce((sum, [time, used]) => sum + (time - x) * (used - y), 0);
  const slope = over / (last.reduce((sum, [time]) => sum + (time - x) ** 2, 0) || 1);
  const bytes = slope * (last.at(-1)[0] - last[0][0]);
  console.log(
    `${role}: ${shown.map(([, used]) => mega(used)).join(" ")} MB in use, ${mega(list.at(-1)[2])} MB resident`,
  );
  console.log(`  last half: ${mega(bytes)} MB, ${mega(slope * 60)} MB a minute`);
  return bytes;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
