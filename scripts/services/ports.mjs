import { randomInt } from "node:crypto";
import { connect, createServer } from "node:net";

const given = new Set();

/**
 * A port of this machine that nobody uses, below those that the system hands out: none but another call of this takes it
 * before its server listens. Its neighbour, 10000 higher, is free too: the servers of a cluster of Redis use both.
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 20_000);
    if (given.has(port)) continue;
    given.add(port);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** True if a server accepts connections at the port. */
export function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/**
 * Waits until a child process accepts connections; throws when it ends first, or takes longer than `patience`
 * milliseconds.
 */
export async function untilListens(child, name, port, patience) {
  const deadline = Date.now() + patience;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    if (await accepts(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${name} did not start`);
}
