import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { aptInstall } from "./apt.mjs";
import { untilListens } from "./ports.mjs";

/** Another program with the same arguments, such as valkey-server, is named by the variable. */
const program = process.env.STOA_TEST_REDIS_PROGRAM ?? "/usr/bin/redis-server";

/** Milliseconds that it gets to come up. */
const patience = 120_000;

/**
 * A Redis server without persistence. Tests of TLS and of clusters start their own beside it, with the same program:
 * they stop and kill servers.
 */
export default {
  name: "redis",
  env: "STOA_TEST_REDIS",
  async start({ folder, port, log }) {
    const { stop, pid } = await startRedisServer({ folder, port, log });
    return { value: `redis://127.0.0.1:${port}`, stop, pid };
  },
};

/** Starts one server with further settings, or with the arguments `whole` alone: a Sentinel has a file. */
export async function startRedisServer({ folder, port, log, settings = [], whole = null }) {
  if (!existsSync(program)) await aptInstall(["redis-server"], log);
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const args = whole ?? [...place, "--save", "", "--appendonly", "no", ...settings];
  const child = spawn(program, args, { stdio: "ignore" });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  try {
    await untilListens(child, "redis-server", port, patience);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, pid: child.pid };
}
