import { closeSync, openSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Program } from "../chaos/program.mjs";
import { startTunnel, translatesNumbers } from "../chaos/tunnel.mjs";
import { run } from "../process.mjs";
import { freePort } from "../services/ports.mjs";

/**
 * A machine: an address of the loopback network, a supervisor with its workers, and connections of its own to each engine
 * and to the balancer, which can fail without those of the other machines.
 */
export class Machine {
  #program = null;
  #log;
  #clock;

  constructor(number, address, tunnels) {
    this.number = number;
    this.address = address;
    this.tunnels = tunnels;
  }

  /** Makes the connections; `ports` are those of the engines. Sentinels name ports, which become those of the tunnels. */
  static async prepare(number, ports) {
    const host = `127.0.0.${11 + number}`;
    const address = { host, port: await freePort(), grpcPort: await freePort() };
    const tunnels = {
      balancer: await startTunnel(address.port, { host }),
      balancerGrpc: await startTunnel(address.grpcPort, { host }),
    };
    const ways = new Map();
    for (const [name, port] of Object.entries(ports)) {
      const options = name.includes("Sentinel") ? { translate: translatesNumbers(ways) } : {};
      tunnels[name] = await startTunnel(port, options);
      ways.set(port, tunnels[name].port);
    }
    return new Machine(number, address, tunnels);
  }

  start(file, settings, { folder, workers }) {
    this.#clock = join(folder, `m${this.number + 1}.clock`);
    const env = {
      NODE_OPTIONS: `--import ${new URL("clock.mjs", import.meta.url)}`,
      GAME_DAY_CLOCK: this.#clock,
      GAME_DAY: JSON.stringify(settings),
      STOA_HOST: this.address.host,
      STOA_PORT: String(this.address.port),
      STOA_WORKERS: String(workers),
      STOA_ENV: "production",
      STOA_LOGS: "false",
    };
    this.#log = openSync(join(folder, `m${this.number + 1}.log`), "a");
    this.#program = new Program(file, [], { env, group: true, output: this.#log });
  }

  get failures() {
    return this.#program.failures.map((text) => `m${this.number + 1}: ${text}`);
  }

  get errors() {
    return this.#program.errors;
  }

  /** Tunnels by the name of a target; `engines` is all but those of the balancer. */
  tunnelsOf(target) {
    const names = Object.keys(this.tunnels).filter((name) =>
      target === "engines" ? !name.startsWith("balancer") : name.startsWith(target),
    );
    return names.map((name) => this.tunnels[name]);
  }

  async workers() {
    const { output } = await run("ps", ["--ppid", String(this.#program.pid), "-o", "pid="]);
    return output.trim().split(/\s+/).map(Number).filter(Boolean);
  }

  async signalWorker(number, signal) {
    const pids = await this.workers();
    const pid = pids[number % Math.max(1, pids.length)];
    if (pid === undefined) return null;
    signalProcess(pid, signal);
    return pid;
  }

  kill(milliseconds) {
    return this.#program.kill(milliseconds);
  }

  freeze(milliseconds) {
    return this.#program.freeze(milliseconds);
  }

  /** Sets the clock of its processes this many milliseconds off. */
  shiftClock(milliseconds) {
    return writeFile(this.#clock, String(milliseconds));
  }

  reload() {
    signalProcess(this.#program.pid, "SIGHUP");
  }

  /** Kilobytes of memory of all its processes. */
  async memory() {
    const pids = [this.#program.pid, ...(await this.workers())];
    const { output } = await run("ps", ["-p", pids.join(","), "-o", "rss="]);
    return output
      .trim()
      .split(/\s+/)
      .map(Number)
      .reduce((sum, size) => sum + size, 0);
  }

  async close() {
    await this.#program?.close(30_000);
  }

  async end() {
    this.#program?.end();
    for (const tunnel of Object.values(this.tunnels)) await tunnel.close();
    if (this.#log !== undefined) closeSync(this.#log);
  }
}

export function signalProcess(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
