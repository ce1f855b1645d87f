import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Starts a server as a child process and resolves to a way to stop it when `ready` does: a function that is asked again
 * and again, or a text that the server prints. A server that ends first, or is not ready in time, is an error with the
 * last line of its output.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ ready: string | (() => Promise<boolean>), patience: number, signal?: NodeJS.Signals, env?: object, cwd?: string }} options
 */
export async function startChild(command, args, { ready, patience, signal = "SIGKILL", env = process.env, cwd }) {
  const child = spawn(command, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  let failed = null;
  const keep = (chunk) => {
    text = `${text}${chunk}`.slice(-20_000);
  };
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  child.once("error", (error) => {
    failed = error;
  });
  const stop = async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(timer);
  };
  const deadline = Date.now() + patience;
  const isReady = typeof ready === "string" ? async () => text.includes(ready) : ready;
  while (!(await isReady())) {
    const ended = child.exitCode ?? child.signalCode;
    if (failed === null && ended === null && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      continue;
    }
    await stop();
    const last = failed?.message ?? text.trim().split("\n").at(-1);
    throw new Error(`${command} did not start${ended === null ? "" : ` (ended with ${ended})`}: ${last}`);
  }
  return { pid: child.pid, stop };
}
