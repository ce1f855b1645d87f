import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "../process.mjs";
import { freePort, untilListens } from "./ports.mjs";

const version = "0.0.8-alpha";
const kept = join(root, "node_modules", ".cache", "stoa", `rotel-${version}`);
const program = join(kept, "node_modules", "@streamfold", "rotel-linux-x64", "bin", "rotel-agent");

export const hasRotel = process.platform === "linux" && process.arch === "x64";

/** Milliseconds that it gets to come up. */
const patience = 120_000;

/**
 * A collector of OTLP over HTTP and gRPC. It prints what it has decoded; the value names both addresses and the file with
 * its output. Its package has a program for Linux on x64 alone.
 */
export default {
  name: "rotel",
  env: "STOA_TEST_ROTEL",
  async start({ folder, port, log }) {
    const grpc = await freePort();
    const { output, stop } = await startRotel({ folder, port, grpc, log, verbosity: "detailed" });
    const value = { http: `http://127.0.0.1:${port}`, grpc: `http://127.0.0.1:${grpc}`, output };
    return { value: JSON.stringify(value), stop };
  },
};

/** Starts the collector. It adds to its file: with the verbosity `basic` a line with the numbers of each request. */
export async function startRotel({ folder, port, grpc, log, verbosity }) {
  if (!hasRotel) throw new Error("Rotel runs here on Linux on x64 only");
  if (!existsSync(program)) await install(log);
  const output = join(folder, "output");
  const signals = ["traces", "metrics", "logs"].flatMap((signal) => ["--debug-log", signal]);
  const places = ["--otlp-http-endpoint", `127.0.0.1:${port}`, "--otlp-grpc-endpoint", `127.0.0.1:${grpc}`];
  const more = ["--debug-log-verbosity", verbosity, "--pid-file", join(folder, "pid")];
  const file = openSync(output, "a");
  const child = spawn(program, ["start", "--exporter", "blackhole", ...signals, ...places, ...more], {
    stdio: ["ignore", file, file],
  });
  closeSync(file);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  try {
    await untilListens(child, "rotel-agent", port, patience);
    await untilListens(child, "rotel-agent", grpc, patience);
  } catch (error) {
    await stop();
    throw error;
  }
  return { output, stop, pid: child.pid };
}

async function install(log) {
  log("installing Rotel ...");
  const folder = `${kept}.${process.pid}`;
  await mkdir(folder, { recursive: true });
  const packages = [`@streamfold/rotel-linux-x64@${version}`];
  const result = await run("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", ...packages], {
    timeout: 300_000,
  });
  if (result.code !== 0) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`npm install failed: ${result.output.trim().split("\n").at(-1)}`);
  }
  // Under its name it is there whole or not at all.
  await rename(folder, kept).catch(() => rm(folder, { recursive: true, force: true }));
}
