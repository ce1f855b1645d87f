import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "../chaos/compile.mjs";
import { mountDisk } from "../chaos/disk.mjs";
import { Ledger } from "../chaos/ledger.mjs";
import { Program } from "../chaos/program.mjs";
import { eventually, pause } from "../chaos/wait.mjs";
import { exitCodeOf } from "../process.mjs";
import { startHaproxy } from "../services/haproxy.mjs";
import { freePort } from "../services/ports.mjs";
import { prepareBroker } from "./brokers.mjs";
import { startCollector } from "./collector.mjs";
import { startPostgres } from "./engines.mjs";
import { happen, laneOf } from "./faults.mjs";
import { Machine } from "./machines.mjs";
import { masterName, prepareRedis } from "./redis.mjs";
import { describeFault, kindsFor, schedule } from "./schedule.mjs";
import { timelineSvg } from "./timeline.mjs";
import { judge, recoveries } from "./verdict.mjs";

const program = fileURLToPath(new URL("program.mjs", import.meta.url));
const load = fileURLToPath(new URL("load.mjs", import.meta.url));
const machineCount = 3;
const workers = 2;
const initialStock = 1_000_000_000;
/** The version of a machine that does not listen. */
const noVersion = "none";
/** Requests that a limit allows, and how many are sent at once. */
const limit = 10;
const burst = 50;

export const tables = `
  create table stock (sku text primary key, price int not null, available int not null check (available >= 0));
  insert into stock values ('tea', 5, ${initialStock});
  create table pages (key text primary key, value int not null);
  create table ticks (place bigserial primary key, key text not null, number int not null);
  create table work (number int not null, job text not null);
  create table rollouts (version int primary key)`;

/**
 * Runs the application on several machines under load, lets the faults of the seed happen, and judges what is left. Resolves to
 * the failures, the counts and the picture. `keep` is a folder for the ledger and the logs. `interrupted` ends everything early.
 */
export async function runGameDay({
  seed,
  minutes = 0,
  brokerName = "kafka",
  brokers = 1,
  log = () => {},
  keep = null,
  faults: given = null,
  interrupted = new AbortController().signal,
}) {
  const folder = await mkdtemp(join(tmpdir(), "stoa-game-day-"));
  // PostgreSQL runs as another user.
  await chmod(folder, 0o755);
  const ledger = new Ledger(join(folder, "ledger"));
  const stops = [() => rm(folder, { recursive: true, force: true })];
  const failures = [];
  const end = async () => {
    for (let stop = stops.pop(); stop; stop = stops.pop()) {
      await Promise.resolve(stop()).catch((error) => log(`at the end: ${error.message}`));
    }
  };
  interrupted.addEventListener("abort", () => end().then(() => process.exit(exitCodeOf(interrupted.reason))));
  const mount = async (own) => {
    const disk = await mountDisk(own);
    // After the engines have stopped, and before the folder is removed.
    if (disk !== null) stops.splice(1, 0, disk.unmount);
    return disk;
  };
  try {
    log("the engines start");
    const postgres = await startPostgres(folder, mount);
    stops.push(() => postgres.stop());
    await postgres.query(tables);
    const redis = await prepareRedis(folder);
    stops.push(() => redis.stop());
    await redis.start();
    const collector = await startCollector(folder);
    stops.push(() => collector?.stop());
    const broker = await prepareBroker(brokerName, folder, machineCount, { mount, count: brokers });
    stops.push(() => broker.stop());
    const machines = [];
    for (let number = 0; number < machineCount; number++) {
      const [postgres0, postgres1] = postgres.ports;
      const ports = { postgres0, postgres1 };
      if (collector !== null) ports.collector = overGrpc(number) ? collector.grpc : collector.port;
      for (const [index, port] of redis.ports.entries()) ports[`redis${index}`] = port;
      for (const [index, port] of redis.sentinelPorts.entries()) ports[`redisSentinel${index}`] = port;
      for (const [index, port] of broker.ports[number].entries()) ports[`broker${index}`] = port;
      const machine = await Machine.prepare(number, ports);
      stops.push(() => machine.end());
      machines.push(machine);
    }
    await broker.start(machines.map(brokerTunnels));

    const versionFile = join(folder, "version");
    await writeFile(versionFile, "1");
    const file = await compile(program, folder);
    const logs = join(folder, "logs");
    await mkdir(logs);
    for (const machine of machines) machine.start(file, settingsOf(machine), { folder: logs, workers });
    const servers = machines.map(({ tunnels }) => tunnels.balancer.port);
    const grpc = { port: await freePort(), servers: machines.map(({ tunnels }) => tunnels.balancerGrpc.port) };
    const balancer = await startHaproxy({ folder, port: await freePort(), servers, grpc });
    stops.push(balancer.stop);
    const isReady = async (machine) => (await statusOf(machine, "/health/ready")) === 200;
    const allReady = async () => (await Promise.all(machines.map(isReady))).every(Boolean);
    if (!(await eventually(allReady, 180_000, 500))) {
      throw new Error(`the machines did not start: ${machines.map(({ errors }) => errors).join("\n")}`);
    }
    log("the load begins");
    const port = Number(new URL(balancer.value).port);
    const settings = { port, grpcPort: grpc.port, folder: ledger.folder, limit, burst };
    const clients = new Program(await compile(load, folder), [JSON.stringify(settings)]);
    stops.push(async () => clients.end());
    if (!(await eventually(() => ledger.read("ordered").length > 0, 60_000, 500))) {
      throw new Error(`the load did not begin: ${clients.errors}`);
    }
    // The level of the time before the faults is measured.
    await pause(10_000);
    const before = await stateOf(machines, postgres);

    let version = 1;
    const rollOut = async () => {
      version++;
      // The new version needs the column, and the old one does not know it.
      await postgres.query("alter table ticks add column if not exists version int");
      await postgres.query(`alter table ticks add column version_${version} int`);
      await writeFile(versionFile, String(version));
      const told = machines.map(() => Number.NEGATIVE_INFINITY);
      return async () => {
        const found = await Promise.all(machines.map((machine) => versionsOf(machine)));
        for (const [index, machine] of machines.entries()) {
          // One that is just starting runs the new version anyway, and the signal would end it.
          if (found[index] === noVersion || found[index] === `${version}`) continue;
          // A machine whose new worker did not start, because an engine was away, keeps the old ones, and is told again.
          if (Date.now() < told[index] + 60_000) continue;
          told[index] = Date.now();
          machine.reload();
        }
        return found.every((list) => list === `${version}`);
      };
    };
    const can = [
      postgres.hasDisk && "disk of postgres",
      broker.hasDisk && "disk of broker",
      broker.starve && "memory of broker",
      collector && "collector",
    ];
    const happened = [];
    const running = new Map();
    const start = Date.now();
    let seen = 0;
    for (const fault of given ?? faultsOf(seed, minutes, can)) {
      if (minutes > 0 && Date.now() > start + minutes * 60_000) break;
      // Faults of one engine, or of one machine, follow each other.
      const lane = laneOf(fault);
      if (fault.overlaps) await running.get(lane);
      else await Promise.all(running.values());
      await pause((fault.wait ?? 0) * 1000);
      running.set(lane, hurt(fault));
    }
    await Promise.all(running.values());
    // The last ten seconds are far from any fault.
    await pause(20_000);
    log("the load ends");
    await clients.close(300_000);
    failures.push(...clients.failures);
    const isSettled = async () =>
      (
        await Promise.all([
          openSagas(postgres),
          leftMessages(postgres),
          missingTicks(postgres, ledger),
          missingWork(postgres, ledger),
        ])
      ).every((count) => count === 0);
    log("what is left is worked off");
    if (!(await eventually(isSettled, 180_000, 1000))) log("it was not worked off in time");
    await eventually(async () => (await missingMails(postgres)) === 0, 60_000, 1000);
    // What was only used under load is given back.
    await pause(15_000);
    const after = await stateOf(machines, postgres);
    const found = await tablesOf(postgres);
    await writeFile(join(folder, "tables.json"), JSON.stringify(found));
    await writeFile(join(folder, "faults.json"), JSON.stringify(happened));
    await Promise.all(machines.map((machine) => machine.close()));
    for (const machine of machines) failures.push(...machine.failures);

    const entries = ledger.readAll();
    const read = (kind) => entries.get(kind) ?? [];
    const logged = await logEntries(logs);
    // The time of a log may be that of a clock that had jumped.
    const shifts = happened.flatMap(({ shift = 0 }) => shift);
    const verdict = judge({
      read,
      tables: found,
      faults: happened,
      machines: machineCount,
      ordered: broker.ordered,
      exported: (await collector?.received()) ?? [],
      lostSpans: logged
        .filter(({ msg }) => /^telemetry: spans were lost/.test(msg))
        .reduce((sum, { lost = 0 }) => sum + lost, 0),
      alone: logged
        .filter(({ msg }) => msg.includes("each machine counts for itself"))
        .flatMap(({ time }) => [0, ...shifts].map((shift) => Date.parse(time) - shift * 1000)),
    });
    const title = `game day, seed ${seed}, ${happened.length} faults, broker ${brokerName}`;
    return {
      failures: [...verdict.failures, ...failures],
      counts: verdict.counts,
      faults: happened,
      recoveries: recoveries(read("http"), happened),
      memory: { before, after },
      messages: messagesOf(logged),
      levels: levelsOf(logged),
      svg: timelineSvg({ http: read("http"), faults: happened, title }),
    };

    async function hurt(fault) {
      const name = describeFault(fault);
      const { kind, target, shift } = fault;
      const entry = { name, kind, target, shift, begin: Date.now(), end: null };
      happened.push(entry);
      log(`${((entry.begin - start) / 1000).toFixed(1)} s: ${name}`);
      try {
        Object.assign(entry, await happen(fault, { machines, postgres, redis, broker, collector, rollOut, failures }));
      } catch (error) {
        failures.push(`${name} did not work: ${error.message}`);
      }
      entry.end = Date.now();
      const violations = ledger.read("violation");
      for (const { text } of violations.slice(seen)) log(`VIOLATION: ${text}`);
      seen = violations.length;
    }

    function settingsOf(machine) {
      const { tunnels, address } = machine;
      const hosts = `127.0.0.1:${tunnels.postgres0.port},127.0.0.1:${tunnels.postgres1.port}`;
      return {
        database: `postgres://app@${hosts}/postgres?target_session_attrs=read-write&application_name=m${machine.number + 1}`,
        redis: { sentinels: tunnelsTo(machine, "redisSentinel"), master: masterName },
        ...(collector !== null && {
          telemetry: {
            serviceName: "orders",
            otlpEndpoint: `http://127.0.0.1:${tunnels.collector.port}`,
            protocol: overGrpc(machine.number) ? "grpc" : "http/protobuf",
            metricInterval: 5,
          },
        }),
        broker: brokerName,
        brokerUrl: broker.urlOf(brokerTunnels(machine)),
        grpc: `${address.host}:${address.grpcPort}`,
        versionFile,
        limit,
      };
    }
  } finally {
    if (keep !== null) await keepFiles(folder, keep);
    await end();
  }
}

/** The ports by which a machine reaches the brokers. */
function brokerTunnels(machine) {
  return machine.tunnelsOf("broker").map(({ port }) => port);
}

/** The second machine exports over gRPC. */
function overGrpc(number) {
  return number === 1;
}

/** The addresses by which a machine reaches engines of a name. */
function tunnelsTo(machine, name) {
  return machine.tunnelsOf(name).map(({ port }) => `127.0.0.1:${port}`);
}

/** The short form has one fault of each kind, one at a time. */
function* faultsOf(seed, minutes, can) {
  let left = minutes > 0 ? Number.POSITIVE_INFINITY : kindsFor(can).length;
  for (const fault of schedule(seed, { machines: machineCount, workers, overlaps: minutes > 0, can })) {
    if (left-- === 0) return;
    yield fault;
  }
}

async function statusOf({ address }, path) {
  return (await get(address, path))?.status ?? 0;
}

async function get({ host, port }, path) {
  try {
    const response = await fetch(`http://${host}:${port}${path}`, { signal: AbortSignal.timeout(5000) });
    return { status: response.status, text: await response.text() };
  } catch {
    return null;
  }
}

/** The versions that a machine serves, in several connections one after the other: `1`, or `1,2`. */
async function versionsOf({ address }) {
  const found = new Set();
  for (let i = 0; i < 2 * workers; i++) {
    const response = await new Promise((resolve) => {
      import("node:http").then(({ get: send }) =>
        send({ ...address, path: "/version", agent: false, timeout: 5000 }, async (incoming) => {
          const [chunk] = await once(incoming, "data").catch(() => ["{}"]);
          resolve(JSON.parse(String(chunk)).version);
        }).on("error", () => resolve(noVersion)),
      );
    });
    found.add(response);
  }
  return [...found].join();
}

/** Megabytes of memory and connections to PostgreSQL, of each machine. */
async function stateOf(machines, postgres) {
  const rows = await postgres.query(
    "select application_name as name, count(*)::int from pg_stat_activity group by application_name",
  );
  const connections = machines.map(({ number }) => rows.find(({ name }) => name === `m${number + 1}`)?.count ?? 0);
  const memory = await Promise.all(machines.map((machine) => machine.memory()));
  return { connections, megabytes: memory.map((size) => Math.round(size / 1024)) };
}

const countOf = async (postgres, text) => Number((await postgres.query(text))[0].count);
const openSagas = (postgres) => countOf(postgres, "select count(*) from stoa.sagas where finished_at is null");
const leftMessages = (postgres) => countOf(postgres, "select count(*) from stoa.outbox");
const missingMails = (postgres) =>
  countOf(
    postgres,
    `select count(*) from order_list o where not exists
      (select from mails where starts_with(subject, 'Order ' || o.id || ' '))`,
  );

async function missingTicks(postgres, ledger) {
  const found = new Set(
    (await postgres.query("select key, number from ticks")).map(({ key, number }) => `${key}-${number}`),
  );
  return ledger.read("ticked").filter(({ key, number }) => !found.has(`${key}-${number}`)).length;
}

async function missingWork(postgres, ledger) {
  const found = new Set((await postgres.query("select number from work")).map(({ number }) => number));
  return ledger.read("enqueued").filter(({ number }) => !found.has(number)).length;
}

async function tablesOf({ query }) {
  return {
    initialStock,
    stock: (await query("select available from stock where sku = 'tea'"))[0].available,
    orders: await query("select id, status from order_list"),
    sagas: await query("select id, status from stoa.sagas"),
    shipments: await query("select order_id from shipments"),
    payments: await query("select key, refunded from payments"),
    mails: await query("select subject from mails"),
    events: await query("select stream from stoa.events"),
    ticks: await query("select key, number from ticks order by place"),
    work: await query("select number, job from work"),
  };
}

/** The warnings and errors that the machines have logged. */
async function logEntries(folder) {
  const entries = [];
  for (const name of await readdir(folder)) {
    for (const line of (await readFile(join(folder, name), "utf8")).split("\n")) {
      let entry;
      try {
        entry = JSON.parse(line);
      } catch {
        continue;
      }
      if (/warn|error|fatal/i.test(entry.level)) entries.push({ ...entry, msg: String(entry.message ?? entry.msg) });
    }
  }
  return entries;
}

/** How often each level was logged, as `warn 12`. */
function levelsOf(entries) {
  const counts = {};
  for (const { level } of entries) counts[level] = (counts[level] ?? 0) + 1;
  return counts;
}

/** How often each message was logged; numbers in it do not count. */
function messagesOf(entries) {
  const counts = new Map();
  for (const { level, msg } of entries) {
    const text = `${level} ${msg.replaceAll(/\d+/g, "N")}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}

async function keepFiles(folder, target) {
  const { cp } = await import("node:fs/promises");
  for (const name of ["ledger", "logs", "tables.json", "faults.json"]) {
    await cp(join(folder, name), join(target, name), { recursive: true }).catch(() => {});
  }
}
