/**
 * The event store against the plain SQL that an optimistic append needs, and the command bus against that of NestJS.
 * `node bench/events.mjs [rounds]` after `npm run build`; the packages of bench/ must be installed (`npm run bench` does
 * that). The sides take turns in each round. The figures are medians with the lowest and the highest round: microseconds
 * of CPU of this process, microseconds of CPU of PostgreSQL's backends, and calls per second.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { services, startServices } from "../scripts/services/index.mjs";
import { median } from "./lib/statistics.mjs";
import { stoaEntry } from "./lib/stoa-build.mjs";

const rounds = Number(process.argv[2] ?? 25);
const { App } = await stoaEntry();
const { Aggregate } = await stoaEntry("events");
const { command } = await stoaEntry("cqrs");

const appends = 400;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

class Counter extends Aggregate {
  static snapshotVersion = 1;
  total = 0;
  add(amount) {
    this.emit("Added", { amount, note: "an item of ordinary length" });
  }
  apply(event) {
    this.total += event.data.amount;
  }
}

const postgres = process.env.STOA_TEST_POSTGRES
  ? { env: { url: process.env.STOA_TEST_POSTGRES }, stop: async () => {} }
  : await startServices(services.filter(({ name }) => name === "postgres"));
const [url] = Object.values(postgres.env);
const schema = `bench_${randomUUID().slice(0, 8)}`;
const app = new App();
app.logger = quiet;
app.enableDatabase({ url, poolSize: 8 }).enableEventSourcing({ schema }).enableCqrs({ schema });
await app.start();
const db = app.database;
try {
  await benchAppends();
  await benchLoads();
  await benchCommands();
} finally {
  await db.script(`drop schema if exists "${schema}" cascade`);
  await app.stop();
  await postgres.stop();
}

async function benchAppends() {
  await db.script(`create table "${schema}".plain (
    position bigint generated always as identity primary key, stream text not null, version bigint not null,
    id uuid not null unique, type text not null, data jsonb not null, metadata jsonb not null,
    recorded_at timestamptz not null default clock_timestamp(), unique (stream, version))`);
  const insert = `insert into "${schema}".plain (stream, version, id, type, data, metadata)
    select $1, $2 + 1, $3, $4, $5::text::jsonb, $6::text::jsonb
    where coalesce((select max(version) from "${schema}".plain where stream = $1), 0) = $2 returning position`;
  const data = { sku: "tea", price: 5, customer: "Ada Lovelace" };
  const sides = {
    "plain SQL": (stream, version) => {
      const id = randomUUID();
      const values = [stream, version, id, "ItemAdded", JSON.stringify(data), JSON.stringify({ correlationId: id })];
      return db.fetchrow(insert, values);
    },
    append: (stream, version) =>
      app.eventStore.append(`b${stream}`, { type: "ItemAdded", data }, { expectedVersion: version }),
  };
  await benchBatches(data);
  for (const writers of [1, 8]) {
    await duel(`append, ${writers} ${writers === 1 ? "writer" : "writers"}`, sides, appends, async (side, round) => {
      const write = async (_, writer) => {
        for (let version = 0; version < appends / writers; version++) {
          await side(`-${round}-${writers}-${writer}`, version);
        }
      };
      await Promise.all(Array.from({ length: writers }, write));
    });
  }
}

/** Three events in one append, against one plain statement for the three. */
async function benchBatches(data) {
  const calls = 150;
  const three = `insert into "${schema}".plain (stream, version, id, type, data, metadata)
    select $1, $2 + ord, id, type, data::jsonb, metadata::jsonb
    from unnest($3::uuid[], $4::text[], $5::text[], $6::text[]) with ordinality as e (id, type, data, metadata, ord)
    where coalesce((select max(version) from "${schema}".plain where stream = $1), 0) = $2 returning position`;
  const sides = {
    "plain SQL": (stream, version) => {
      const ids = [randomUUID(), randomUUID(), randomUUID()];
      const metadata = ids.map((id) => JSON.stringify({ correlationId: id }));
      const texts = ids.map(() => JSON.stringify(data));
      return db.fetch(three, [stream, version, ids, ids.map(() => "ItemAdded"), texts, metadata]);
    },
    append: (stream, version) => {
      const event = { type: "ItemAdded", data };
      return app.eventStore.append(`b${stream}`, [event, event, event], { expectedVersion: version });
    },
  };
  await duel("append of three events, 1 writer", sides, calls, async (side, round) => {
    for (let n = 0; n < calls; n++) await side(`-three-${round}`, n * 3);
  });
}

async function benchLoads() {
  const plainCounters = new App();
  plainCounters.logger = quiet;
  plainCounters.enableDatabase({ url, poolSize: 1 }).enableEventSourcing({ schema, enableSnapshots: false });
  await plainCounters.start();
  const counters = app.eventStore.repository(Counter);
  const counter = new Counter("one");
  for (let n = 0; n < 1000; n++) counter.add(n);
  await counters.save(counter);
  while ((await db.fetchval(`select count(*) from "${schema}".snapshots`)) < 1) await new Promise(setImmediate);
  const read = `select version, type, data from "${schema}".events where stream = $1 order by version`;
  const loads = 20;
  const sides = {
    "plain SQL": async () => {
      let total = 0;
      for (const row of await db.fetch(read, ["counter-one"])) total += row.data.amount;
      return total;
    },
    "without a snapshot": async () => (await plainCounters.eventStore.repository(Counter).load("one")).total,
    "with a snapshot": async () => (await counters.load("one")).total,
  };
  for (const [name, side] of Object.entries(sides)) if ((await side()) !== 499500) throw new Error(`${name} is wrong`);
  await duel("load of 1,000 events", sides, loads, async (side) => {
    for (let n = 0; n < loads; n++) await side();
  });
  await plainCounters.stop();
}

/** The bus of NestJS has no time limit: the same work is a timer and a race around its call. */
async function benchCommands() {
  const ping = command("ping", { handler: async (input) => input.n + 1 });
  const direct = command("direct", { handler: (input) => input.n + 1 });
  const nest = await nestBus();
  const limited = (n) => {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("late")), 30_000);
    });
    return Promise.race([nest(n), late]).finally(() => clearTimeout(timer));
  };
  const commands = 5000;
  const sides = {
    ...(nest && { "@nestjs/cqrs with limit": limited, "@nestjs/cqrs": nest }),
    "command bus": (n) => app.commands.execute(ping, { n }),
    "without a promise": (n) => app.commands.execute(direct, { n }),
  };
  await duel("command", sides, commands, async (side) => {
    for (let n = 0; n < commands; n++) {
      const result = await side(n);
      if ((result.value ?? result) !== n + 1) throw new Error("wrong result");
    }
  });
}

async function nestBus() {
  const from = process.env.BENCH_NEST ?? import.meta.url;
  const { createRequire } = await import("node:module");
  const require = createRequire(from);
  try {
    require("reflect-metadata");
    const { NestFactory } = require("@nestjs/core");
    const { Module } = require("@nestjs/common");
    const { CommandBus, CommandHandler, CqrsModule } = require("@nestjs/cqrs");
    class Ping {
      constructor(n) {
        this.n = n;
      }
    }
    class PingHandler {
      async execute({ n }) {
        return n + 1;
      }
    }
    CommandHandler(Ping)(PingHandler);
    class Root {}
    Module({ imports: [CqrsModule.forRoot()], providers: [PingHandler] })(Root);
    const context = await NestFactory.createApplicationContext(Root, { logger: false });
    const bus = context.get(CommandBus);
    return (n) => bus.execute(new Ping(n));
  } catch (error) {
    console.log(`@nestjs/cqrs is not measured: ${error.message.split("\n")[0]}`);
    return null;
  }
}

/** Runs each side in turn, in several rounds after a first one that is not counted. */
async function duel(name, sides, count, run) {
  const figures = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [label, side] of Object.entries(sides)) {
      const [database, cpu, time] = [await backendCpu(), process.cpuUsage(), performance.now()];
      await run(side, round);
      const milliseconds = performance.now() - time;
      const { user, system } = process.cpuUsage(cpu);
      const spent = { client: user + system, database: (await backendCpu()) - database };
      if (round === 0) continue;
      figures[label].push({
        client: spent.client / count,
        database: spent.database / count,
        rate: (count / milliseconds) * 1000,
      });
    }
  }
  console.log(name);
  const [base] = Object.values(figures);
  for (const [label, values] of Object.entries(figures)) {
    const ratio = (key) => median(values.map((value, at) => value[key] / base[at][key])).toFixed(2);
    const show = (key) => {
      const all = values.map((value) => value[key]);
      return `${median(all).toFixed(1)} (${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)})`;
    };
    console.log(`  ${label.padEnd(24)} client ${show("client")} us, ${ratio("client")} times the first`);
    console.log(`  ${"".padEnd(24)} database ${show("database")} us, ${ratio("database")} times the first`);
    console.log(`  ${"".padEnd(24)} ${show("rate")} per second`);
  }
}

/** Microseconds of CPU that the backends of this database have used. */
async function backendCpu() {
  const text =
    "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'";
  let sum = 0;
  for (const { pid } of await db.fetch(text)) {
    sum += Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]);
  }
  return sum / 1000;
}
