/**
 * The wait of honest clients while others use the same few connections: once others whose statements end after a short
 * time, and once others whose statements would take long, and who abort after the same short time and come again. To
 * cancel costs more than to end, but it must not starve the honest ones: the aim is a ratio of the medians of at most
 * 1.5, while they abort and right after it. The server is a process of its own.
 *
 *     BENCH_DATABASE=postgres://... node bench/aborts.mjs [seconds] [rounds]     after `npm run build`
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const honestClients = 8;
const otherClients = 20;
/** Milliseconds that the short statement takes, and after which an impatient client aborts the long one. */
const patience = 60;

if (process.argv[2] === "serve") await serve();
else await compare(Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 3));

async function serve() {
  const { App } = await stoaEntry();
  const app = new App();
  app.enableDatabase({ url: process.env.BENCH_DATABASE, poolSize: 10 });
  app.get("/quick", async ({ db }) => ({ n: await db.fetchval("select count(*) from generate_series(1, 1000)") }));
  app.get("/short", async ({ db }) => ({ n: await db.fetchval("select 1 from pg_sleep($1)", [patience / 1000]) }));
  app.get("/long", async ({ db }) => ({ n: await db.fetchval("select 1 from pg_sleep(20)") }));
  app.get("/stats", () => app.database.stats());
  await app.run({ port: Number(process.env.BENCH_PORT), logs: false, workers: 1 });
}

async function compare(seconds, rounds) {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const child = spawn(process.execPath, [process.argv[1], "serve"], {
    env: { ...process.env, BENCH_PORT: String(port) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await listening(port);
    await load(port, 1, false);
    const before = await load(port, seconds, false);
    console.log(`honest p50/p99 in ms, before any abort: ${shown(before)}`);
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
      const aborting = await load(port, seconds, true);
      // Requests of clients that have left may still be in the way.
      const after = await load(port, seconds, false);
      ratios.push(Math.max(aborting.p50, after.p50) / before.p50);
      console.log(`  others abort ${shown(aborting)}, right after that ${shown(after)}`);
    }
    const { text } = await call(port, "/stats");
    console.log(
      `largest ratio of the medians, in the middle of the rounds ${median(ratios).toFixed(2)} (${ratios.map((r) => r.toFixed(2)).join(", ")})`,
    );
    console.log(`connections afterwards: ${text}`);
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

/** Runs both kinds of clients for some seconds; resolves to the times of the honest ones. */
async function load(port, seconds, aborts) {
  const end = performance.now() + seconds * 1000;
  const times = [];
  const failures = [];
  const agent = new Agent({ keepAlive: true });
  const honest = async () => {
    while (performance.now() < end) {
      const start = performance.now();
      const { status } = await call(port, "/quick", { agent });
      if (status === 200) times.push(performance.now() - start);
      else failures.push(status);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const other = async () => {
    while (performance.now() < end) {
      if (aborts) await call(port, "/long", { signal: AbortSignal.timeout(patience) });
      else await call(port, "/short");
    }
  };
  const clients = Array.from({ length: honestClients + otherClients }, (_, i) =>
    i < honestClients ? honest() : other(),
  );
  await Promise.all(clients);
  agent.destroy();
  times.sort((a, b) => a - b);
  return {
    p50: median(times),
    p99: times[Math.floor(times.length * 0.99)],
    count: times.length,
    failed: failures.length,
  };
}

function shown({ p50, p99, count, failed }) {
  return `${p50.toFixed(1)}/${p99.toFixed(1)} (${count} requests, ${failed} failed)`;
}

function call(port, path, options = {}) {
  return new Promise((resolve) => {
    const sent = request({ host: "127.0.0.1", port, path, ...options }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode, text }));
      response.on("error", () => resolve({ status: 0, text: "" }));
    });
    sent.on("error", () => resolve({ status: 0, text: "" }));
    sent.end();
  });
}

async function listening(port) {
  for (let i = 0; i < 200; i++) {
    if ((await call(port, "/stats")).status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the server did not start");
}
