/**
 * CPU time and transactions of the client: 1,000 sagas of three steps to the end, against the plain SQL they need and DBOS;
 * 10,000 jobs, against plain SQL, pg-boss and graphile-worker. Each side has a process and a database of its own; rounds
 * alternate. `BENCH_POSTGRES=postgres://... node bench/sagas.mjs [rounds]` after `npm run build`; the packages of bench/ must
 * be installed. `BENCH_MODULES` names another folder that has them.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const sagas = 1000;
const jobs = 10_000;
/** Calls of the client at the same time. */
const atOnce = 8;
/** Jobs in progress at the same time, or of a batch. */
const concurrency = 50;
const server = process.env.BENCH_POSTGRES ?? "postgres://localhost/postgres";
const modules = process.env.BENCH_MODULES ?? import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const require = createRequire(join(modules, "x.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

/** Runs a function `count` times, some at the same time. */
async function repeat(count, run) {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await run(next++);
    }),
  );
}

/** Resolves after `count` calls of `tick`. */
function counter(count) {
  let left = count;
  let tick;
  const all = new Promise((resolve) => {
    tick = () => --left === 0 && resolve();
  });
  return { all, tick };
}

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

const sides = {
  /** A row before each step and one after it, and a row for the saga. */
  async "sagas plain SQL"(url) {
    const { default: pg } = await load("pg");
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    await pool.query(`create table plain (id text primary key, status text not null default 'running', results jsonb);
      create table plain_log (id text not null, step text not null, event text not null, result jsonb, at timestamptz default clock_timestamp());
      create index on plain_log (id)`);
    const log = (id, step, event, result) =>
      pool.query({
        name: "log",
        text: "insert into plain_log (id, step, event, result) values ($1, $2, $3, $4)",
        values: [id, step, event, result],
      });
    return async (round) => {
      await repeat(sagas, async (n) => {
        const id = `${round}-${n}`;
        await pool.query({ name: "new", text: "insert into plain (id) values ($1)", values: [id] });
        for (const step of ["a", "b", "c"]) {
          await log(id, step, "started", null);
          await log(id, step, "done", JSON.stringify({ step }));
        }
        await pool.query({ name: "end", text: "update plain set status = 'completed' where id = $1", values: [id] });
      });
    };
  },
  async "sagas stoa"(url) {
    const { App } = await stoaEntry();
    const { saga } = await stoaEntry("saga");
    const app = new App();
    app.logger = quiet;
    app.enableDatabase({ url, poolSize: 10 }).enableSaga();
    const step = (name) => ({ action: () => ({ step: name }) });
    const three = app.saga(saga("three").step("a", step("a")).step("b", step("b")).step("c", step("c")));
    await app.start();
    return async (round) => {
      await repeat(sagas, (n) => three.start(null, { id: `${round}-${n}` }));
      const open = "select exists (select from stoa.sagas where finished_at is null)";
      while (await app.database.fetchval(open)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
  },
  async "sagas DBOS"(url) {
    const { DBOS } = await load("@dbos-inc/dbos-sdk");
    DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, logLevel: "error", runAdminServer: false });
    const step = (name) => DBOS.runStep(async () => ({ step: name }), { name });
    const workflow = DBOS.registerWorkflow(
      async () => {
        for (const name of ["a", "b", "c"]) await step(name);
      },
      { name: "three" },
    );
    await DBOS.launch();
    return () => repeat(sagas, () => workflow());
  },
  /** An insert for each job, claims and ends of 50, with the lease, the token and the attempts that at-least-once needs. */
  async "jobs plain SQL"(url) {
    const { default: pg } = await load("pg");
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    await pool.query(`create table plain_jobs (id bigint generated always as identity primary key, name text not null, value jsonb not null,
      status text not null default 'waiting', priority smallint not null default 0, attempts int not null default 0, owner text,
      token bigint not null default 0, lease_until timestamptz not null default '-infinity', run_at timestamptz not null default clock_timestamp(),
      started_at timestamptz, created_at timestamptz not null default clock_timestamp(), finished_at timestamptz);
      create index on plain_jobs (name, priority desc, run_at, id) where finished_at is null`);
    return async () => {
      await repeat(jobs, (n) =>
        pool.query({
          name: "add",
          text: "insert into plain_jobs (name, value) values ('bench', $1) returning id",
          values: [JSON.stringify({ n })],
        }),
      );
      for (;;) {
        const { rows } = await pool.query({
          name: "claim",
          text: `update plain_jobs set owner = 'me', token = token + 1, attempts = attempts + 1, started_at = clock_timestamp(),
              lease_until = clock_timestamp() + interval '6 seconds'
            where id in (select id from plain_jobs
              where name = 'bench' and finished_at is null and run_at <= clock_timestamp() and lease_until <= clock_timestamp()
              order by priority desc, run_at, id limit $1 for update skip locked)
            returning id, token, value, attempts`,
          values: [concurrency],
        });
        if (rows.length === 0) return;
        const { rowCount } = await pool.query({
          name: "end",
          text: `update plain_jobs j set status = 'done', owner = null, lease_until = '-infinity', finished_at = clock_timestamp()
            from unnest($1::bigint[], $2::bigint[]) as s (id, token) where j.id = s.id and j.token = s.token`,
          values: [rows.map(({ id }) => id), rows.map(({ token }) => token)],
        });
        if (rowCount !== rows.length) throw new Error("a job was lost");
      }
    };
  },
  async "jobs stoa"(url) {
    const { App } = await stoaEntry();
    const app = new App();
    app.logger = quiet;
    let count;
    const job = app.enableDatabase({ url, poolSize: 10 }).job("bench", { concurrency }, () => count.tick());
    await app.start();
    return async () => {
      count = counter(jobs);
      await repeat(jobs, (n) => job.enqueue({ n }));
      await count.all;
      const open = "select exists (select from stoa.jobs where finished_at is null)";
      while (await app.database.fetchval(open)) await new Promise((resolve) => setTimeout(resolve, 5));
    };
  },
  async "jobs pg-boss"(url) {
    const { default: Boss } = await load("pg-boss");
    const boss = new Boss({ connectionString: url, max: 10 });
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("bench");
    let count;
    // It looks for work every half second at most, so several workers look in turn.
    for (let n = 0; n < 10; n++) {
      await boss.work("bench", { batchSize: concurrency, pollingIntervalSeconds: 0.5 }, async (batch) => {
        for (let each = 0; each < batch.length; each++) count.tick();
      });
    }
    return async () => {
      count = counter(jobs);
      await repeat(jobs, (n) => boss.send("bench", { n }));
      await count.all;
    };
  },
  async "jobs graphile-worker"(url) {
    const { run, makeWorkerUtils, Logger } = await load("graphile-worker");
    const logger = new Logger(() => () => {});
    const utils = await makeWorkerUtils({ connectionString: url, logger });
    await utils.migrate();
    let count;
    await run({
      connectionString: url,
      concurrency,
      logger,
      noHandleSignals: true,
      taskList: { bench: () => void count.tick() },
    });
    return async () => {
      count = counter(jobs);
      await repeat(jobs, (n) => utils.addJob("bench", { n }));
      await count.all;
    };
  },
};

const [given = "5", url] = process.argv.slice(2);
if (given in sides) await measure(await sides[given](url));
else await compare(Number(given), process.env.BENCH_ONLY ?? "");

/** Sends the milliseconds of CPU of each round. */
async function measure(run) {
  for (let round = 0; ; round++) {
    const told = once(process, "message");
    process.send("ready");
    await told;
    const before = process.cpuUsage();
    await run(round);
    const { user, system } = process.cpuUsage(before);
    process.send((user + system) / 1000);
  }
}

async function next(child) {
  while (child.inbox.length === 0) await once(child.process, "message");
  return child.inbox.shift();
}

async function compare(rounds, only) {
  const { default: pg } = await load("pg");
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  const children = [];
  for (const name of Object.keys(sides).filter((side) => side.startsWith(only))) {
    const database = `bench_${name.replaceAll(/\W/g, "_").toLowerCase()}`;
    await admin.query(`drop database if exists ${database} with (force)`);
    await admin.query(`create database ${database}`);
    const target = new URL(server);
    target.pathname = `/${database}`;
    const child = spawn(
      process.execPath,
      [import.meta.filename ?? new URL(import.meta.url).pathname, name, target.href],
      {
        stdio: ["ignore", "ignore", "inherit", "ipc"],
      },
    );
    const entry = { name, database, process: child, inbox: [], cpu: [], transactions: [] };
    child.on("message", (message) => entry.inbox.push(message));
    child.on("exit", (code) => code && process.exit(1));
    children.push(entry);
    await next(entry);
  }
  // PostgreSQL's counters are written at most once a second by each session.
  const committed = async ({ database }) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { rows } = await admin.query("select xact_commit::float8 as n from pg_stat_database where datname = $1", [
      database,
    ]);
    return rows[0].n;
  };
  // The first round compiles the code.
  for (let round = 0; round <= rounds; round++) {
    for (const child of children) {
      const before = await committed(child);
      child.process.send("go");
      const cpu = await next(child);
      await next(child);
      if (round > 0) {
        child.cpu.push(cpu);
        child.transactions.push((await committed(child)) - before);
      }
    }
  }
  for (const kind of ["sagas", "jobs"]) {
    const group = children.filter(({ name }) => name.startsWith(kind));
    if (group.length === 0) continue;
    const count = kind === "sagas" ? sagas : jobs;
    console.log(
      `${count} ${kind}, median of ${rounds} rounds: milliseconds of CPU of the client (range), transactions each`,
    );
    const plain = median(group[0].cpu);
    for (const { name, cpu, transactions } of group) {
      const [low, high] = [Math.min(...cpu), Math.max(...cpu)].map((value) => value.toFixed(0));
      const middle = median(cpu);
      console.log(
        `  ${name.slice(kind.length + 1).padEnd(16)} ${middle.toFixed(0).padStart(6)} (${low} to ${high})  ` +
          `${(middle / plain).toFixed(2)} of plain SQL  ${(median(transactions) / count).toFixed(2)}`,
      );
    }
  }
  for (const { process: child } of children) child.kill("SIGKILL");
  for (const { database } of children) await admin.query(`drop database ${database} with (force)`);
  await admin.end();
}
