import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { aptInstall } from "./apt.mjs";

const program = "/usr/bin/redis-server";

/** Milliseconds that it gets to come up. */
const patience = 20_000;

/**
 * A Redis server without persistence. Tests of TLS and of clusters start their own beside it, with the same program:
 * they stop and kill servers.
 */
export default {
  name: "redis",
  env: "STOA_TEST_REDIS",
  async start({ folder, port, log }) {
    if (!existsSync(program)) await aptInstall(["redis-server"], log);
    const settings = [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--dir",
      folder,
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    const child = spawn(program, settings, { stdio: "ignore" });
    const stop = async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    try {
      await listens(child, port);
    } catch (error) {
      await stop();
      throw error;
    }
    return { value: `redis://127.0.0.1:${port}`, stop };
  },
};

async function listens(child, port) {
  const deadline = Date.now() + patience;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    if (await accepts(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("redis-server did not start");
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
