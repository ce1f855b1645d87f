/**
 * Measures what grows with the number of processes of an application: transactions, notifications and connections of PostgreSQL,
 * commands and connections of Redis, at rest and for each order of the orders example. docs/growing.md has the figures.
 *
 *     node scripts/game-day/growing.mjs [--processes 1,3,10] [--seconds 30]
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile } from "../chaos/compile.mjs";
import { eventually, pause } from "../chaos/wait.mjs";
import { freePort } from "../services/ports.mjs";
import { startRedisServer } from "../services/redis.mjs";
import { prepareBroker } from "./brokers.mjs";
import { startPostgres } from "./engines.mjs";
import { Machine } from "./machines.mjs";
import { redisInfo } from "./redis.mjs";
import { tables } from "./run.mjs";

const { values } = parseArgs({
  options: { processes: { type: "string", default: "1,3,10" }, seconds: { type: "string", default: "30" } },
});
const seconds = Number(values.seconds);
const orders = 50;

for (const workers of values.processes.split(",").map(Number)) {
  const folder = await mkdtemp(join(tmpdir(), "stoa-growing-"));
  await chmod(folder, 0o755);
  const stops = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres(folder);
    stops.push(() => postgres.stop());
    await postgres.query(tables);
    const redis = { port: await freePort() };
    const server = await startRedisServer({ folder, port: redis.port, log: () => {} });
    stops.push(server.stop);
    const broker = await prepareBroker("kafka", folder, 1);
    stops.push(() => broker.stop());
    const [postgres0, postgres1] = postgres.ports;
    const machine = await Machine.prepare(0, { postgres0, postgres1, redis: redis.port, broker: broker.ports[0][0] });
    stops.push(() => machine.end());
    await broker.start([[machine.tunnels.broker.port]]);
    const versionFile = join(folder, "version");
    await writeFile(versionFile, "1");
    await mkdir(join(folder, "logs"));
    const settings = {
      // Without the tunnels: they take CPU themselves.
      database: `postgres://app@127.0.0.1:${postgres0}/postgres`,
      redis: { url: `redis://127.0.0.1:${redis.port}` },
      broker: "kafka",
      brokerUrl: broker.urlOf([machine.tunnels.broker.port]),
      versionFile,
      limit: 10,
    };
    const file = await compile(fileURLToPath(new URL("program.mjs", import.meta.url)), folder);
    machine.start(file, settings, { folder: join(folder, "logs"), workers });
    const url = `http://${machine.address.host}:${machine.address.port}`;
    const isReady = () =>
      fetch(`${url}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    if (!(await eventually(isReady, 180_000))) throw new Error(`the application did not start: ${machine.errors}`);
    await place(url, `warm-${workers}`, 4 * workers);
    await pause(10_000);
    const rest = await measured(() => pause(seconds * 1000), postgres, redis);
    const busy = await measured(() => place(url, `o-${workers}`, orders).then(() => pause(5000)), postgres, redis);
    const perSecond = (count) => (count / rest.seconds).toFixed(1);
    const perOrder = (name) => ((busy[name] - (rest[name] / rest.seconds) * busy.seconds) / orders).toFixed(1);
    console.log(
      `${workers} processes: at rest ${perSecond(rest.transactions)} transactions/s, ${perSecond(rest.commands)} commands of Redis/s, ` +
        `${busy.connections} connections to PostgreSQL, ${busy.clients} to Redis, ${Math.round((await machine.memory()) / 1024)} MB; ` +
        `an order: ${perOrder("transactions")} transactions, ${perOrder("commands")} commands`,
    );
    await machine.close();
  } finally {
    for (const stop of stops.reverse()) await Promise.resolve(stop()).catch(() => {});
  }
}
process.exit();

async function place(url, prefix, count) {
  for (let n = 0; n < count; n++) {
    const body = { id: `${prefix}-${n}`, customer: "Ann", email: "a@example.org", sku: "tea", quantity: 1 };
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/orders`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`an order failed: ${response.status} ${await response.text()}`);
  }
}

/** What engines have done while a function ran. */
async function measured(run, postgres, redis) {
  const began = performance.now();
  const before = await counts(postgres, redis);
  await run();
  const after = await counts(postgres, redis);
  return {
    seconds: (performance.now() - began) / 1000,
    transactions: after.transactions - before.transactions,
    commands: after.commands - before.commands,
    connections: after.connections,
    clients: after.clients,
  };
}

async function counts(postgres, redis) {
  // Statistics of the server are a second late at most.
  await pause(1500);
  const [{ transactions }] = await postgres.query(
    "select (xact_commit + xact_rollback)::int as transactions from pg_stat_database where datname = 'postgres'",
  );
  const [{ connections }] = await postgres.query(
    "select count(*)::int as connections from pg_stat_activity where application_name = 'stoa'",
  );
  const info = await redisInfo(redis.port);
  return { transactions, connections, commands: info.total_commands_processed, clients: info.connected_clients };
}
