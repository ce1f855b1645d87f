/**
 * CPU time of the outbox against pg-boss: 10,000 messages are sent and delivered, each sent in a transaction with a row of
 * its own (`single`), or a thousand in one transaction (`batch`). The outbox publishes to the memory broker and its consumer;
 * pg-boss fetches 500 jobs at a time and completes them. Both counts are CPU: of the client, and of all processes of the
 * server, which must be on this machine (Linux).
 *
 *     BENCH_DATABASE=postgres://... node bench/outbox.mjs [rounds]
 *
 * after `npm run build`; the packages of bench/ must be installed. The database is filled with tables of both.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cpuSeconds } from "./lib/processes.mjs";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const url = process.env.BENCH_DATABASE;
const messages = 10_000;
const atOnce = 20;
const perBatch = 1000;
const value = (n) => ({ id: `o${n}`, customer: "Ada Lovelace", total: n, lines: [{ sku: "tea", quantity: 2 }] });

const sides = {
  async stoa() {
    const { App } = await stoaEntry();
    const app = new App();
    app.logger = { debug() {}, info() {}, warn: console.error, error: console.error, child: () => app.logger };
    let left = 0;
    let done = () => {};
    app.enableDatabase({ url, poolSize: 10 }).enableMemoryBroker().enableOutbox();
    app.onMessage("bench", { concurrency: 500 }, () => {
      if (--left === 0) done();
    });
    await app.start();
    await app.database.execute("create table if not exists bench_rows (n int)");
    return {
      single: (n) =>
        app.database.transaction(async (tx) => {
          await tx.execute("insert into bench_rows values ($1)", [n]);
          await tx.publish("bench", value(n), { key: `k${n}` });
        }),
      batch: (first) =>
        app.database.transaction(async (tx) => {
          await tx.execute("insert into bench_rows values ($1)", [first]);
          const entries = Array.from({ length: perBatch }, (_, i) => ({
            value: value(first + i),
            key: `k${first + i}`,
          }));
          await tx.publishBatch("bench", entries);
        }),
      begin: () => {
        left = messages;
      },
      delivered: () => (left === 0 ? undefined : new Promise((resolve) => (done = resolve))),
    };
  },
  async "pg-boss"() {
    const { default: PgBoss } = await import(process.env.BENCH_PG_BOSS ?? "pg-boss");
    const { default: pg } = await import(process.env.BENCH_PG ?? "pg");
    const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
    boss.on("error", console.error);
    await boss.start();
    await boss.createQueue("bench");
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    await pool.query("create table if not exists bench_rows (n int)");
    const transaction = async (run) => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await run(client, { executeSql: (text, values) => client.query(text, values) });
        await client.query("commit");
      } finally {
        client.release();
      }
    };
    return {
      single: (n) =>
        transaction(async (client, db) => {
          await client.query("insert into bench_rows values ($1)", [n]);
          await boss.send("bench", value(n), { db });
        }),
      batch: (first) =>
        transaction(async (client, db) => {
          await client.query("insert into bench_rows values ($1)", [first]);
          await boss.insert(
            Array.from({ length: perBatch }, (_, i) => ({ name: "bench", data: value(first + i) })),
            { db },
          );
        }),
      begin() {},
      async delivered() {
        for (let count = 0; count < messages; ) {
          const jobs = await boss.fetch("bench", { batchSize: 500 });
          if (jobs.length === 0) continue;
          await boss.complete(
            "bench",
            jobs.map(({ id }) => id),
          );
          count += jobs.length;
        }
      },
    };
  },
};

const [given = "5"] = process.argv.slice(2);
if (url === undefined) throw new Error("BENCH_DATABASE names no database");
if (given in sides) await serve(await sides[given]());
else await compare(Number(given));

/** Runs a workload each time it is asked for, and reports the CPU of this process in milliseconds. */
async function serve(side) {
  for (;;) {
    process.send("ready");
    const [workload] = await once(process, "message");
    const before = process.cpuUsage();
    side.begin();
    if (workload === "single") {
      let next = 0;
      const sender = async () => {
        while (next < messages) await side.single(next++);
      };
      await Promise.all(Array.from({ length: atOnce }, sender));
    } else for (let n = 0; n < messages; n += perBatch) await side.batch(n);
    await side.delivered();
    const { user, system } = process.cpuUsage(before);
    process.send((user + system) / 1000);
  }
}

async function compare(rounds) {
  const children = Object.fromEntries(
    Object.keys(sides).map((name) => [name, fork(new URL(import.meta.url), [name], { stdio: "inherit" })]),
  );
  for (const child of Object.values(children)) await once(child, "message");
  const postmaster = await serverProcess();
  for (const workload of ["single", "batch"]) {
    const costs = Object.fromEntries(Object.keys(sides).map((name) => [name, { client: [], server: [] }]));
    // The first round warms both up.
    for (let round = 0; round <= rounds; round++) {
      const order = Object.keys(sides);
      for (const name of round % 2 === 0 ? order : order.toReversed()) {
        const before = cpuSeconds(postmaster);
        children[name].send(workload);
        const [cpu] = await once(children[name], "message");
        const server = (cpuSeconds(postmaster) - before) * 1000;
        await once(children[name], "message");
        if (round === 0) continue;
        costs[name].client.push(cpu);
        costs[name].server.push(server);
      }
    }
    console.log(
      `${workload}: milliseconds of CPU for ${messages} messages, ${rounds} rounds, median (lowest to highest)`,
    );
    for (const where of ["client", "server"]) {
      const shown = Object.keys(sides).map((name) => {
        const list = costs[name][where];
        return `${name} ${Math.round(median(list))} (${Math.round(Math.min(...list))} to ${Math.round(Math.max(...list))})`;
      });
      const ratio = median(costs.stoa[where]) / median(costs["pg-boss"][where]);
      console.log(`  ${where}: ${shown.join(", ")}: ${ratio.toFixed(2)} times pg-boss`);
    }
  }
  for (const child of Object.values(children)) child.kill("SIGKILL");
}

/** The process that all backends of the server are children of. */
async function serverProcess() {
  const { default: pg } = await import(process.env.BENCH_PG ?? "pg");
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${rows[0].pid}/status`, "utf8"))[1];
  await client.end();
  return parent;
}
