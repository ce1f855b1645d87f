import cluster, { type Worker } from "node:cluster";
import { deferred } from "../internal/deferred.js";
import { nodeCrypto } from "../internal/node-modules.js";
import { announce, type Links, urlOf } from "./banner.js";
import { CrashLoop } from "./crash-loop.js";
import { Hub } from "./exchange/hub.js";
import { freePort } from "./free-port.js";
import { rescueUntakenConnection } from "./handed-connections.js";
import { childEnvironment, isChildMessage, type ParentMessage } from "./parent-link.js";
import type { RunPlan } from "./run-options.js";
import type { RunTarget } from "./run-target.js";
import type { RunningServer } from "./running-server.js";
import { exitCodeOf, onHangup, onStopSignal, survivesBrokenOutput, suspendStopSignals } from "./signals.js";
import { Silence } from "./silence.js";
import { StartError } from "./start-error.js";
import { onStuckReport, reportDescriptor, type StuckReport, workerStdio } from "./stuck-report.js";
import { ticketKeyLife } from "./tls/fields.js";
import type { ListenAddress } from "./transport.js";
import { startWatchdog, watchPeriod } from "./watchdog.js";
import { silentTopic, ticketKeysTopic } from "./worker-channel.js";

/** The node:cluster of a process manager has made this process a worker: it must not have workers of its own. */
export function isForeignWorker(): boolean {
  return cluster.isWorker;
}

/** Runs the program once per worker and keeps that many alive; this process itself serves nothing. */
export async function supervise(target: RunTarget, plan: RunPlan): Promise<RunningServer> {
  if (process.argv[1] === undefined) throw new StartError("workers run the program again: it must be a file");
  if (plan.tls) (await import("./tls/load.js")).loadTls(plan.tls);
  target.configure(plan.settings);
  survivesBrokenOutput();
  const port = plan.address.path === undefined && plan.address.port === 0 ? await freePort(plan.address) : null;
  const supervisor = new Supervisor(target, plan, port);
  const address = await supervisor.start();
  // A supervisor that is stuck hands out no connections: without it, the workers end and the service can be restarted.
  if (plan.stuckTimeout > 0) {
    const watchdog = await startWatchdog({
      seconds: plan.stuckTimeout,
      parent: null,
      orphanSeconds: 0,
      stopSeconds: plan.shutdownTimeout,
      onStuck: suspendStopSignals,
      report: null,
    });
    watchdog.arm();
  }
  return { address, url: urlOf(address, plan.tls !== null), close: () => supervisor.stop().then(() => {}) };
}

interface Charge {
  readonly worker: Worker;
  readyAt: number | null;
  /** Another has been started in its place. */
  replaced: boolean;
  /** Messages of other workers that it has not taken yet. */
  waiting: number;
  /** The worker that leaves when this one is ready. */
  readonly replaces: Charge | null;
  /** True if it has been killed because it was stuck. */
  stuck: boolean;
}

/** Messages kept for a worker that does not take them. A stuck one must not fill the memory of the supervisor. */
const maxWaiting = 64;
/**
 * Milliseconds for which a worker that a signal stopped is not replaced. A service manager signals all processes at once
 * (systemd's default), and a worker may notice earlier than the supervisor.
 */
const together = 2_000;
/** Missed ticks after which readiness tells that a worker does not respond. */
const silentTicks = 3;

class Supervisor {
  readonly #target: RunTarget;
  readonly #plan: RunPlan;
  readonly #port: number | null;
  readonly #hub: Hub;
  readonly #charges = new Set<Charge>();
  readonly #pending = new Set<NodeJS.Timeout>();
  readonly #crashes = new CrashLoop();
  readonly #started = deferred<ListenAddress>();
  readonly #emptied = deferred<void>();
  readonly #silence: Silence<Charge>;
  #ticketKeys: ParentMessage | null = null;
  #running = false;
  #stopping = false;
  /** True if every worker that ended did so as it should. */
  #clean = true;

  constructor(target: RunTarget, plan: RunPlan, port: number | null) {
    this.#target = target;
    this.#plan = plan;
    this.#port = port;
    this.#hub = new Hub(async () => (await target.services?.()) ?? {});
    // The watchdog of a worker kills it earlier, and knows the place.
    this.#silence = new Silence(silentTicks, Math.ceil((plan.stuckTimeout * 1000 + 5_000) / this.#period));
  }

  get #period(): number {
    return watchPeriod(this.#plan.stuckTimeout);
  }

  async start(): Promise<ListenAddress> {
    const release = onStopSignal((signal, count) => {
      if (count === 1) void this.stop().then((clean) => process.exit(clean ? 0 : 1));
      else this.#force(exitCodeOf(signal));
    });
    const watch = setInterval(() => this.#watch(), this.#period);
    this.#emptied.promise.then(() => {
      release();
      clearInterval(watch);
    });
    if (this.#plan.tls) this.#keepTls();
    cluster.setupPrimary({ stdio: [...workerStdio] });
    for (let i = 0; i < this.#plan.settings.workers; i++) this.#fork(null);
    return this.#started.promise;
  }

  /** Lets every worker drain, then kills those that are left. False if one did not end as it should. */
  async stop(): Promise<boolean> {
    if (!this.#stopping) {
      this.#stopping = true;
      for (const timer of this.#pending) clearTimeout(timer);
      for (const { worker } of this.#charges) worker.process.kill("SIGTERM");
      if (this.#charges.size === 0) this.#emptied.resolve();
    }
    // A worker keeps the time itself, and a shorter one; only a worker that is blocked needs this.
    const overdue = setTimeout(() => this.#kill(), this.#plan.shutdownTimeout * 980);
    await this.#emptied.promise;
    clearTimeout(overdue);
    return this.#clean;
  }

  #fork(replaces: Charge | null): void {
    const role = childEnvironment({
      role: "worker",
      port: this.#port,
      again: this.#running,
      parent: process.pid,
      report: reportDescriptor,
    });
    const worker = cluster.fork(role);
    const charge: Charge = { worker, readyAt: null, replaced: false, waiting: 0, replaces, stuck: false };
    this.#charges.add(charge);
    this.#hub.attach(worker);
    rescueUntakenConnection(worker, () => this.#serving);
    onStuckReport(worker.process, (report) => this.#noteStuck(charge, report));
    worker.on("message", (message: unknown) => this.#hear(charge, message));
    worker.once("exit", (code: number | null, signal: string | null) => this.#bury(charge, code, signal));
    // The channel of a process that is just dying breaks; its exit is seen anyway.
    worker.on("error", () => {});
  }

  /** The workers that have started and do not leave. */
  get #serving(): Charge[] {
    return [...this.#charges].filter((charge) => charge.readyAt !== null && !charge.replaced);
  }

  #hear(charge: Charge, message: unknown): void {
    if (!isChildMessage(message)) return;
    switch (message.stoa) {
      case "ready":
        charge.readyAt = performance.now();
        if (this.#ticketKeys) send(charge, this.#ticketKeys);
        if (charge.replaces && this.#charges.has(charge.replaces)) send(charge.replaces, { stoa: "replaced" });
        this.#noteReady(message.address, message.links);
        break;
      case "turn":
        if (message.inspected) this.#silence.forget(charge);
        else this.#silence.heard(charge);
        break;
      case "failed":
        if (!this.#running) this.#giveUp(message.reason);
        else this.#target.logger.error(`a worker could not start: ${message.reason}`, pidOf(charge));
        break;
      case "leaving":
        if (message.told) this.#replace(charge, "was told to stop", together);
        else this.#replace(charge, "leaves");
        break;
      case "publish":
        for (const other of this.#charges) if (other !== charge && other.readyAt !== null) send(other, message);
    }
  }

  #noteReady(address: ListenAddress, links: Links): void {
    if (this.#running || this.#stopping) return;
    if (this.#serving.length < this.#plan.settings.workers) return;
    this.#running = true;
    if (this.#plan.banner) announce(this.#target, this.#plan, address, links);
    this.#started.resolve(address);
  }

  #bury(charge: Charge, code: number | null, signal: string | null): void {
    this.#charges.delete(charge);
    this.#silence.forget(charge);
    // One that had not come as far as to handle signals dies of them.
    const told = code === 0 || signal === "SIGTERM" || signal === "SIGINT";
    const how = signal ? `was ended by ${signal}` : `exited with code ${code}`;
    if (!this.#stopping) this.#replace(charge, how, told ? together : 0);
    else if (!told) this.#clean = false;
    if (this.#stopping && this.#charges.size === 0) this.#emptied.resolve();
  }

  /** Starts another worker after `wait` milliseconds, unless the supervisor is told to stop meanwhile. */
  #replace(charge: Charge, how: string, wait = 0): void {
    if (charge.replaced || this.#stopping) return;
    charge.replaced = true;
    const delay = this.#crashes.add(charge.readyAt, this.#running);
    if (delay === null) {
      this.#giveUp(`workers keep dying soon after their start; the last one ${how}`);
      return;
    }
    const note = (): void =>
      this.#target.logger.warn(`worker ${charge.worker.process.pid} ${how}; another takes its place`, pidOf(charge));
    if (wait === 0) note();
    const timer = setTimeout(
      () => {
        this.#pending.delete(timer);
        if (wait > 0) note();
        this.#fork(charge);
      },
      Math.max(delay, wait),
    );
    this.#pending.add(timer);
  }

  /** Workers read their certificates themselves; the keys of session tickets are one for all. */
  #keepTls(): void {
    onHangup(() => {
      for (const { worker } of this.#serving) worker.process.kill("SIGHUP");
    });
    const replace = (): void => {
      const data = nodeCrypto().randomBytes(48).toString("base64");
      this.#ticketKeys = { stoa: "publish", topic: ticketKeysTopic, data };
      for (const charge of this.#serving) send(charge, this.#ticketKeys);
    };
    replace();
    setInterval(replace, ticketKeyLife).unref();
  }

  /** Tells the others about workers that are silent, for readiness; kills those that their watchdog did not kill. */
  #watch(): void {
    const { changed, stuck } = this.#silence.tick();
    if (changed) {
      const data = this.#silence.silent.map(({ worker }) => worker.process.pid);
      for (const charge of this.#charges) {
        if (charge.readyAt !== null) send(charge, { stoa: "publish", topic: silentTopic, data });
      }
    }
    for (const charge of stuck) {
      if (this.#plan.stuckTimeout === 0) break;
      this.#noteStuck(charge, null);
      charge.worker.process.kill("SIGKILL");
    }
  }

  #noteStuck(charge: Charge, report: StuckReport | null): void {
    if (charge.stuck) return;
    charge.stuck = true;
    const { pid } = charge.worker.process;
    const seconds = this.#plan.stuckTimeout;
    const place = report?.at ? `, at ${report.at}` : "";
    const fields = { pid, seconds, at: report?.at ?? null, stack: report?.stack ?? [] };
    this.#target.logger.error(
      `worker ${pid} ran no turn of its event loop for ${seconds} s${place}; it is killed`,
      fields,
    );
  }

  /** Before the server runs, its starter gets the error; after that, the process ends with it. */
  #giveUp(reason: string): void {
    if (this.#stopping) return;
    const error = new StartError(reason);
    void this.stop().then(() => {
      if (!this.#running) return this.#started.reject(error);
      process.stderr.write(`stoa: ${reason}\n`);
      process.exit(1);
    });
  }

  #force(code: number): never {
    this.#kill();
    process.exit(code);
  }

  #kill(): void {
    for (const { worker } of this.#charges) worker.process.kill("SIGKILL");
  }
}

function pidOf(charge: Charge): { pid: number | undefined } {
  return { pid: charge.worker.process.pid };
}

function send(charge: Charge, message: ParentMessage): void {
  if (charge.waiting >= maxWaiting) return;
  charge.waiting++;
  charge.worker.send(message, () => {
    charge.waiting--;
  });
}
