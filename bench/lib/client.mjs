import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { cores } from "./machine.mjs";

/**
 * The load of a workload that wrk cannot give, from a program in `clients/` on the load's core. It keeps its connections
 * between the slices, rests while the other server is loaded, and ends with the server.
 */
export function prepareClient({ client }) {
  const script = new URL(`../clients/${client}.mjs`, import.meta.url).pathname;
  const running = new Map();
  return async function load(port, seconds) {
    if (!running.has(port))
      running.set(
        port,
        start(script, port, () => running.delete(port)),
      );
    return running.get(port)(seconds);
  };
}

function start(script, port, onEnd) {
  const child = spawn("taskset", ["-c", cores.load, process.execPath, script, port].map(String));
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (complaint += text));
  // The end of the process reports a failure; a write after the end is not a second one.
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "close").then(() => {
    onEnd();
    throw new Error(`the client ended under load: ${complaint.trim()}`);
  });
  ended.catch(() => {});
  return async (seconds) => {
    const line = once(lines, "line");
    child.stdin.write(`${seconds}\n`);
    return JSON.parse((await Promise.race([line, ended]))[0]);
  };
}
