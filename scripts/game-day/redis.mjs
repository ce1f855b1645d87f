import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { eventually, pause } from "../chaos/wait.mjs";
import { freePort } from "../services/ports.mjs";
import { startRedisServer } from "../services/redis.mjs";
import { freeze } from "./hurt.mjs";

const quiet = () => {};

/** The name that the Sentinels have for the primary. */
export const masterName = "shop";
const sentinelCount = 3;

/**
 * Milliseconds after which Sentinels give up a server that does not reply: longer than a restart takes, so that a server that
 * was restarted stays the primary.
 */
const downAfter = 5000;

/** Milliseconds by which a replica may be behind at any time. */
const usualLag = 1000;

/** Milliseconds in which Sentinels must have settled: they pause for half a minute when their timers are late. */
const patience = 150_000;

/** A full copy of the data is sent at once, and is not found again by a server that starts. */
const settings = ["--repl-diskless-sync-delay", "0", "--rdb-del-sync-files", "yes"];

/**
 * A primary of Redis, its replica, and three Sentinels, two of which decide on a failover. Faults hurt the server that is the
 * primary at their time. One that may have lost what was confirmed resolves to the times between which: `{ from, to }`.
 */
export async function prepareRedis(folder) {
  const place = async (name) => {
    const own = join(folder, name);
    await mkdir(own);
    return { own, port: await freePort(), running: null };
  };
  const servers = [await place("redis-0"), await place("redis-1")];
  const sentinels = [];
  for (let index = 0; index < sentinelCount; index++) sentinels.push(await place(`sentinel-${index}`));
  const begin = async (server, more = []) => {
    const { own, port } = server;
    server.running = await startRedisServer({ folder: own, port, log: quiet, settings: [...settings, ...more] });
  };
  const beginSentinel = async (sentinel) => {
    const { own, port } = sentinel;
    const file = join(own, "sentinel.conf");
    await writeFile(file, sentinelSettings(sentinel, servers[0].port));
    sentinel.running = await startRedisServer({ folder: own, port, log: quiet, whole: [file, "--sentinel"] });
  };

  const primaryPort = async (sentinel) => {
    const reply = await command(sentinel.port, `sentinel get-master-addr-by-name ${masterName}`);
    return Number(/\r\n(\d+)\r\n$/.exec(reply)?.[1]);
  };
  /** The server that all Sentinels call the primary; null while they differ. */
  const primary = async () => {
    const [port, ...others] = await Promise.all(sentinels.map(primaryPort));
    return others.every((other) => other === port) ? (servers.find((server) => server.port === port) ?? null) : null;
  };
  /** True if the Sentinels agree, know each other, and could make the replica the primary. */
  const isWhole = async () => {
    const active = await primary();
    if (active === null) return false;
    const [info, other] = await Promise.all([
      replication(active.port),
      replication(servers.find((server) => server !== active).port),
    ]);
    const views = await Promise.all(sentinels.map(({ port }) => command(port, `sentinel master ${masterName}`)));
    const replicas = await Promise.all(sentinels.map(({ port }) => command(port, `sentinel replicas ${masterName}`)));
    return (
      info.role === "master" &&
      other.role === "slave" &&
      other.master_port === String(active.port) &&
      other.master_link_status === "up" &&
      views.every((view) => field(view, "flags") === "master" && field(view, "num-other-sentinels") === "2") &&
      replicas.every((view) => field(view, "flags") === "slave" && field(view, "master-link-status") === "ok")
    );
  };
  const untilWhole = async () => {
    const check = () => isWhole().catch(() => false);
    if (!(await eventually(check, patience, 250))) throw new Error("the Sentinels have not settled");
  };
  const active = async () => {
    const found = await primary();
    if (found === null) throw new Error("the Sentinels do not agree on the primary");
    return found;
  };
  /** Hurts the primary. If another took its place, it may have taken writes meanwhile that only it knew. */
  const hurt = async (fault) => {
    const server = await active();
    const from = Date.now() - usualLag;
    await fault(server);
    await untilWhole();
    return (await active()) === server ? null : { from, to: Date.now() };
  };
  const startAgain = async (server) => {
    await rm(join(server.own, "dump.rdb"), { force: true });
    await begin(server);
  };

  return {
    ports: servers.map(({ port }) => port),
    sentinelPorts: sentinels.map(({ port }) => port),
    async start() {
      await begin(servers[0]);
      await begin(servers[1], ["--replicaof", "127.0.0.1", String(servers[0].port)]);
      await Promise.all(sentinels.map(beginSentinel));
      await untilWhole();
    },
    /** It comes back without its data, and its replica follows it. */
    restart: (seconds) =>
      hurt(async (server) => {
        await server.running.stop();
        await pause(seconds * 1000);
        await startAgain(server);
      }),
    freeze: (seconds) => hurt(({ running }) => freeze(running.pid, seconds)),
    /** Refuses writes, as a server does whose memory is used up. */
    fill: (seconds) =>
      hurt(async ({ port }) => {
        await command(port, "config set maxmemory 1");
        await pause(seconds * 1000);
        await command(port, "config set maxmemory 0");
      }),
    /**
     * The primary is killed, and the replica takes its place without what was written in the last milliseconds. Later the
     * old one comes back, as the primary that it was and without data, and is told to follow.
     */
    async failOver(lag, seconds) {
      const old = await active();
      const from = Date.now() - usualLag;
      await command(old.port, "acl setuser default -psync -sync -replconf");
      await command(old.port, "client kill type replica");
      await pause(lag);
      await old.running.stop();
      const to = Date.now();
      const isPromoted = async () => {
        const found = await primary().catch(() => null);
        return found !== null && found !== old && (await replication(found.port)).role === "master";
      };
      if (!(await eventually(isPromoted, patience))) throw new Error("the Sentinels have not promoted the replica");
      await pause(seconds * 1000);
      await startAgain(old);
      await untilWhole();
      return { from, to };
    },
    async stop() {
      for (const { running } of [...sentinels, ...servers]) await running?.stop();
    },
  };
}

function sentinelSettings({ own, port }, primary) {
  return [
    `port ${port}`,
    "bind 127.0.0.1",
    `dir ${own}`,
    `sentinel monitor ${masterName} 127.0.0.1 ${primary} 2`,
    `sentinel down-after-milliseconds ${masterName} ${downAfter}`,
    `sentinel failover-timeout ${masterName} 10000`,
    "",
  ].join("\n");
}

async function replication(port) {
  const lines = (await command(port, "info replication")).matchAll(/^(\w+):(.*)\r$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

/** A field of a reply of Sentinels: the text after that of its name. */
function field(reply, name) {
  const texts = reply.split("\r\n");
  return texts[texts.indexOf(name) + 2];
}

/** The numbers that Redis knows about itself. */
export async function redisInfo(port) {
  const lines = (await command(port, "info")).matchAll(/^(\w+):(\d+)\r$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
}

/** Milliseconds that a reply may take. */
const replyTime = 2000;

/** Sends one command to Redis; resolves to its reply. */
async function command(port, text) {
  const socket = connect(port, "127.0.0.1");
  try {
    socket.write(`${text}\r\n`);
    const [reply] = await once(socket, "data", { signal: AbortSignal.timeout(replyTime) });
    if (String(reply).startsWith("-")) throw new Error(`redis: ${reply}`);
    return String(reply);
  } finally {
    socket.destroy();
  }
}
