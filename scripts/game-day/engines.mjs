import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { queries } from "../chaos/subjects/postgres-subject.mjs";
import { eventually, pause } from "../chaos/wait.mjs";
import { startKafka } from "../services/kafka.mjs";
import { freePort } from "../services/ports.mjs";
import postgres from "../services/postgres.mjs";
import { startRabbit } from "../services/rabbitmq.mjs";
import redisService from "../services/redis.mjs";
import replica from "../services/replica.mjs";

const quiet = () => {};

/**
 * PostgreSQL with a standby that confirms each commit, on two ports. A promotion kills the primary, makes the standby the
 * primary, and starts a new standby at the other port.
 */
export async function startPostgres(folder) {
  const ports = [await freePort(), await freePort()];
  let generation = 0;
  const place = async () => {
    const own = join(folder, `postgres-${generation++}`);
    await mkdir(own);
    return own;
  };
  const values = ports.map((port) => `postgres://app@127.0.0.1:${port}/postgres`);
  let active = 0;
  const servers = [await postgres.start({ folder: await place(), port: ports[0], log: quiet }), null];
  const query = (text, given) => queries(values[active])(text, given);
  const follow = async () => {
    const other = 1 - active;
    const env = { STOA_TEST_POSTGRES: values[active] };
    servers[other] = await replica.start({ folder: await place(), port: ports[other], env, log: quiet });
    // Only now: the standby has copied the settings, and as a primary it would wait for a standby that is not there.
    await query("alter system set synchronous_standby_names = '*'");
    await query("select pg_reload_conf()");
    const isThere = async () => (await query("select from pg_stat_replication where sync_state = 'sync'")).length > 0;
    if (!(await eventually(isThere, 60_000))) throw new Error("the standby does not follow");
  };
  await query("alter system set wal_retrieve_retry_interval = '200ms'");
  await follow();
  return {
    ports,
    query,
    restart: () => servers[active].restart(),
    async promote() {
      const old = servers[active];
      await old.stop();
      servers[active] = null;
      active = 1 - active;
      await servers[active].promote();
      await follow();
    },
    async stop() {
      for (const server of servers) await server?.stop().catch(quiet);
    },
  };
}

export async function startRedis(folder) {
  const port = await freePort();
  await mkdir(join(folder, "redis"));
  const start = () => redisService.start({ folder: join(folder, "redis"), port, log: quiet });
  let server = await start();
  return {
    port,
    /** It comes back without its data. */
    async restart(seconds) {
      await server.stop();
      await pause(seconds * 1000);
      server = await start();
    },
    freeze: (seconds) => freeze(server.pid, seconds),
    /** Refuses writes, as a server does whose memory is used up. */
    async fill(seconds) {
      await command(port, "config set maxmemory 1");
      await pause(seconds * 1000);
      await command(port, "config set maxmemory 0");
    },
    stop: () => server.stop(),
  };
}

/**
 * A broker. Each machine has its own address for it: `listen(advertised)` gets the ports that machines are sent to, and
 * the ports that they are tunnelled to are in `ports`.
 */
export async function prepareBroker(name, folder, machines) {
  const own = join(folder, "broker");
  await mkdir(own);
  if (name === "amqp") {
    const port = await freePort();
    let server;
    return {
      ports: Array(machines).fill(port),
      urlOf: (tunnel) => `amqp://guest:guest@127.0.0.1:${tunnel}`,
      ordered: false,
      async start() {
        server = await startRabbit(own, port);
      },
      async restart() {
        const { ports } = server;
        await server.kill();
        await server.stop();
        server = await startRabbit(own, port, ports);
      },
      async freeze(seconds) {
        await server.signal("SIGSTOP");
        await pause(seconds * 1000);
        await server.signal("SIGCONT");
      },
      stop: () => server?.stop(),
    };
  }
  const port = await freePort();
  const ports = [];
  for (let i = 0; i < machines; i++) ports.push(await freePort());
  let running;
  const settingsOf = (advertised, controller) => {
    const list = (shown) => ports.map((one, i) => `M${i}://127.0.0.1:${shown ? advertised[i] : one}`);
    const controllerPort = `CONTROLLER://127.0.0.1:${controller}`;
    return {
      listeners: [`PLAINTEXT://127.0.0.1:${port}`, ...list(false), controllerPort].join(","),
      "advertised.listeners": [`PLAINTEXT://127.0.0.1:${port}`, ...list(true)].join(","),
      "listener.security.protocol.map": [
        "PLAINTEXT:PLAINTEXT",
        "CONTROLLER:PLAINTEXT",
        ...ports.map((_, i) => `M${i}:PLAINTEXT`),
      ].join(","),
      // The shortest time that a killed consumer keeps its partitions is that of its client.
      "group.min.session.timeout.ms": 1000,
    };
  };
  return {
    ports,
    urlOf: (tunnel) => `127.0.0.1:${tunnel}`,
    ordered: true,
    async start(advertised) {
      const controller = await freePort();
      running = await startKafka(own, port, { controller, settings: settingsOf(advertised, controller) });
    },
    async restart() {
      await running.stop();
      running = await startKafka(own, port, { controller: running.controller, restart: true });
    },
    freeze: (seconds) => freeze(running.pid, seconds),
    stop: () => running?.stop(),
  };
}

async function freeze(pid, seconds) {
  process.kill(pid, "SIGSTOP");
  await pause(seconds * 1000);
  process.kill(pid, "SIGCONT");
}

/** The numbers that Redis knows about itself. */
export async function redisInfo(port) {
  const lines = (await command(port, "info")).matchAll(/^(\w+):(\d+)\r$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
}

/** Sends one command to Redis; resolves to what it replies first. */
async function command(port, text) {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${text}\r\n`);
  const [reply] = await once(socket, "data");
  socket.destroy();
  if (String(reply).startsWith("-")) throw new Error(`redis: ${reply}`);
  return String(reply);
}
