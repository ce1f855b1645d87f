import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** The programs of installed packages, started by path so that neither PATH nor a shell matters. */
export const bin = {
  biome: `${root}node_modules/@biomejs/biome/bin/biome`,
  tsc: `${root}node_modules/typescript-7/bin/tsc`,
  vitest: `${root}node_modules/vitest/vitest.mjs`,
};

const running = new Set();

/**
 * Runs a program to its end and resolves to its exit code and, unless the output is inherited, what it printed. Never
 * rejects for a program that fails; the code says so. With `onMessage` it can send messages to this process.
 */
export function run(command, args, { cwd = root, env = process.env, inherit = false, timeout = 0, onMessage } = {}) {
  return new Promise((resolve) => {
    const output = inherit ? "inherit" : "pipe";
    const stdio = ["ignore", output, output, ...(onMessage ? ["ipc"] : [])];
    const child = spawn(command, args, { cwd, env, timeout, stdio });
    if (onMessage) child.on("message", onMessage);
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk) => (text += chunk));
    child.stderr?.setEncoding("utf8").on("data", (chunk) => (text += chunk));
    running.add(child);
    child.on("error", (error) => resolve({ code: 127, output: `${command}: ${error.message}` }));
    child.on("close", (code, signal) => {
      running.delete(child);
      resolve({ code: code ?? exitCodeOf(signal), output: text });
    });
  });
}

export const runNode = (script, args, options) => run(process.execPath, [script, ...args], options);

export function runNpm(args, options) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith(".js") ? runNode(cli, args, options) : run("npm", args, options);
}

/** Passes a signal to everything `run` has started and that still runs. */
export function signalRunning(signal) {
  for (const child of running) child.kill(signal);
}

/**
 * Calls back when npm is gone. npm passes SIGTERM to the shell between it and a script, and a plain shell dies of it
 * without telling the script.
 */
export function onOrphaned(callback) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, 250);
  timer.unref();
}

/** The exit code that a shell reports for a program ended by a signal. */
export function exitCodeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
