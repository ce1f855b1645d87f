import type { ChildProcess } from "node:child_process";
import cluster from "node:cluster";
import { deferred } from "../../kit/deferred.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { announce, type Links, urlOf } from "../banner.js";
import { type Charge, pidOf, send, type WorkerSlot } from "../charge.js";
import type { RunPlan } from "../run-options.js";
import type { RunTarget } from "../run-target.js";
import type { RunningServer } from "../running-server.js";
import { StartError } from "../start-error.js";
import { ticketKeyLife } from "../tls/fields.js";
import type { ListenAddress } from "../transport.js";
import { Hub } from "../worker-messages/hub.js";
import { CrashLoop, longestPause } from "./crash-loop.js";
import { RefusedRoutes } from "./deadly-routes.js";
import { machineId } from "./machine.js";
import { childEnvironment, isChildMessage, type ParentMessage } from "./parent-link.js";
import { openRoutesFile, routesDescriptor, takeRoutes, whileItRan } from "./running-routes.js";
import { SharedListeners } from "./shared-listeners.js";
import { createSharedMemory, memoryDescriptor, type SharedMemory, supervisorOwner } from "./shared-memory.js";
import { exitCodeOf, onHangup, onStopSignal, survivesBrokenOutput, suspendStopSignals } from "./signals.js";
import { Silence } from "./silence.js";
import { onStuckReport, reportDescriptor, type StuckReport, workerStdio } from "./stuck-report.js";
import { startWatchdog, watchPeriod } from "./watchdog.js";
import { refusedTopic, silentTopic, ticketKeysTopic } from "./worker-channel.js";

/** The node:cluster of a process manager has made this process a worker: it must not have its own workers. */
export function isForeignWorker(): boolean {
  return cluster.isWorker;
}

/** Runs the program once per worker and keeps that many alive; this process itself serves nothing. */
export async function supervise(target: RunTarget, plan: RunPlan): Promise<RunningServer> {
  if (process.argv[1] === undefined) throw new StartError("workers run the program again: it must be a file");
  if (plan.tls) (await import("../tls/load.js")).loadTls(plan.tls);
  target.configure(plan.settings);
  survivesBrokenOutput();
  const supervisor = new Supervisor(target, plan);
  const address = await supervisor.start();
  // A supervisor that is stuck hands out no connections: without it, the workers end and the service can be restarted.
  if (plan.stuckTimeout > 0) {
    const watchdog = await startWatchdog({
      seconds: plan.stuckTimeout,
      parent: null,
      orphanSeconds: 0,
      stopSeconds: plan.drainDelay + plan.shutdownTimeout,
      onStuck: suspendStopSignals,
      report: null,
    });
    watchdog.arm();
  }
  return { address, url: urlOf(address, plan.tls !== null), close: () => supervisor.stop().then(() => {}) };
}

/**
 * Milliseconds for which a worker that a signal stopped is not replaced. A service manager signals all processes at once
 * (systemd's default), and a worker may notice earlier than the supervisor.
 */
const together = 2_000;
/** Deaths of workers before any was ready, after which the server is given up. */
const deathsWithoutStart = 5;
/** Missed ticks after which readiness tells that a worker does not respond. */
const silentTicks = 3;

class Supervisor {
  readonly #target: RunTarget;
  readonly #plan: RunPlan;
  readonly #hub: Hub;
  readonly #listeners = new SharedListeners();
  readonly #charges = new Set<Charge>();
  readonly #places: readonly WorkerSlot[];
  readonly #refused: RefusedRoutes;
  readonly #started = deferred<ListenAddress>();
  readonly #emptied = deferred<void>();
  readonly #silence: Silence<Charge>;
  /** Null where workers share by messages alone. */
  readonly #memory: { readonly shared: SharedMemory; readonly descriptor: number } | null;
  #ticketKeys: ParentMessage | null = null;
  #rolling = false;
  /** True if it was asked for once more while it was under way: the program may have changed since. */
  #rollAgain = false;
  #forks = 0;
  /** Workers that died before any was ready. */
  #deaths = 0;
  /** Workers that were ready, up to the number that was asked for. With the first one the application has served. */
  #ready = 0;
  #stopping = false;
  /** True if every worker that ended did so as it should. */
  #clean = true;

  constructor(target: RunTarget, plan: RunPlan) {
    this.#target = target;
    this.#plan = plan;
    this.#places = Array.from({ length: plan.settings.workers }, () => ({ crashes: new CrashLoop(), pending: null }));
    this.#refused = new RefusedRoutes(plan.refuseDeadlyRoutes, target.logger, (data) => {
      for (const charge of this.#charges) send(charge, { stoa: "publish", topic: refusedTopic, data });
    });
    this.#memory = plan.transport === "net" || plan.transport === "node" ? null : createSharedMemory();
    this.#hub = new Hub(
      async () => (await target.services?.()) ?? {},
      (message, error) => target.logger.error(message, { error }),
    );
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
    const releaseHangup = onHangup(() => void this.#roll());
    this.#emptied.promise.then(() => {
      release();
      releaseHangup();
      clearInterval(watch);
    });
    if (this.#plan.tls) this.#keepTicketKeys();
    for (const place of this.#places) this.#fork(place, null);
    return this.#started.promise;
  }

  /** Lets every worker drain, then kills those that are left. False if one did not end as it should. */
  async stop(): Promise<boolean> {
    const { drainDelay, shutdownTimeout } = this.#plan;
    if (!this.#stopping) {
      this.#stopping = true;
      for (const { pending } of this.#places) clearTimeout(pending?.timer);
      // Until the workers drain, connections are still taken.
      if (this.#ready === 0 || drainDelay === 0) this.#listeners.close();
      else setTimeout(() => this.#listeners.close(), drainDelay * 1000);
      for (const { worker } of this.#charges) worker.process.kill("SIGTERM");
      if (this.#charges.size === 0) this.#emptied.resolve();
    }
    // A worker keeps the time itself, and a shorter one; only a worker that is blocked needs this.
    const overdue = setTimeout(() => this.#kill(), drainDelay * 1000 + shutdownTimeout * 980);
    await this.#emptied.promise;
    clearTimeout(overdue);
    return this.#clean;
  }

  #fork(place: WorkerSlot, replaces: Charge | null, onStart: (isReady: boolean) => void = () => {}): void {
    const routes = openRoutesFile(String(++this.#forks));
    const owner = supervisorOwner + this.#forks;
    const role = childEnvironment({
      role: "worker",
      again: this.#ready > 0,
      parent: process.pid,
      machine: machineId(),
      report: reportDescriptor,
      routes: routes === null ? null : routesDescriptor,
      memory: this.#memory === null ? null : { descriptor: memoryDescriptor, owner },
      refused: this.#refused.list,
    });
    cluster.setupPrimary({ stdio: [...workerStdio, routes ?? "ignore", this.#memory?.descriptor ?? "ignore"] });
    const worker = cluster.fork(role);
    const charge: Charge = {
      worker,
      place,
      readyAt: null,
      replaced: false,
      waiting: 0,
      replaces,
      stuck: false,
      routes,
      onStart,
    };
    this.#charges.add(charge);
    this.#hub.attach(worker);
    survivesInternalMessages(worker.process, (error) =>
      this.#target.logger.error("a message of a worker in the format of Node is wrong", { ...pidOf(charge), error }),
    );
    onStuckReport(worker.process, (report) => this.#noteStuck(charge, report));
    worker.on("message", (message: unknown) => this.#hear(charge, message));
    worker.once("exit", (code: number | null, signal: string | null) => {
      this.#memory?.shared.release(owner);
      this.#bury(charge, code, signal);
    });
    // Messages of the worker can come after its exit, up to the end of the channel: it may have taken a connection. The
    // event of that end does not come if the worker ended in the middle of a message.
    const lost = (): void => {
      if (worker.isConnected()) setTimeout(lost, 5);
      else setImmediate(() => this.#listeners.lost(worker));
    };
    worker.once("exit", lost);
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
        // Routes that were refused while it started, before it heard of them.
        send(charge, { stoa: "publish", topic: refusedTopic, data: this.#refused.list });
        if (charge.replaces && this.#charges.has(charge.replaces)) send(charge.replaces, { stoa: "replaced" });
        charge.onStart(true);
        this.#noteReady(message.address, message.links);
        break;
      case "listen":
        void this.#listeners.open(charge.worker, message.key, message.address);
        break;
      case "took":
        this.#listeners.took(charge.worker, message.key, message.taken);
        break;
      case "closed":
        this.#listeners.leave(charge.worker, message.key, charge.replaced);
        break;
      case "turn":
        this.#listeners.turned(charge.worker);
        if (message.inspected) this.#silence.forget(charge);
        else this.#silence.heard(charge);
        break;
      case "failed":
        if (this.#ready === 0) this.#giveUp(message.reason);
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
    if (this.#stopping) return;
    // What kept the others from starting may be over.
    for (const { pending } of this.#places) if (pending && pending.wait > longestPause.started) pending.start();
    if (this.#ready === this.#plan.settings.workers) return;
    if (++this.#ready < this.#plan.settings.workers) return;
    if (this.#plan.banner) announce(this.#target, this.#plan, address, links);
    this.#started.resolve(address);
  }

  #bury(charge: Charge, code: number | null, signal: string | null): void {
    this.#charges.delete(charge);
    this.#silence.forget(charge);
    // One that had not come as far as to handle signals dies of them. Code 0 is no sign of it: a worker that is told to
    // stop says so first, and `process.exit()` in a handler has the same code.
    const told = signal === "SIGTERM" || signal === "SIGINT";
    const how = signal ? `was ended by ${signal}` : `exited with code ${code}`;
    const routes = takeRoutes(charge.routes);
    if (!this.#stopping) {
      if (!told && !charge.replaced) this.#refused.blame(routes);
      this.#replace(charge, told ? how : how + whileItRan(routes), told ? together : 0);
    } else if (!told && code !== 0) this.#clean = false;
    // Else each worker would keep all those before it.
    if (charge.replaces && !this.#charges.has(charge.replaces)) charge.replaces = null;
    if (charge.readyAt === null) charge.onStart(false);
    if (this.#stopping && this.#charges.size === 0) this.#emptied.resolve();
  }

  /** Starts another worker after `wait` milliseconds, unless the supervisor is told to stop before that. */
  #replace(charge: Charge, how: string, wait = 0): void {
    if (charge.replaced || this.#stopping) return;
    // One that was to take the place of a worker which still serves: that one stays.
    if (charge.replaces && !charge.replaces.replaced) return;
    charge.replaced = true;
    if ([...this.#charges].some(({ replaces }) => replaces === charge)) return;
    // A server that has once served is never given up: clients could end it.
    if (this.#ready === 0 && ++this.#deaths >= deathsWithoutStart) {
      this.#giveUp(`workers keep dying soon after their start; the last one ${how}`);
      return;
    }
    const { place } = charge;
    const level = wait > 0 || how === "leaves" ? "warn" : "error";
    const note = (): void =>
      this.#target.logger[level](`worker ${charge.worker.process.pid} ${how}; another takes its place`, pidOf(charge));
    if (wait === 0) note();
    const start = (): void => {
      clearTimeout(place.pending?.timer);
      place.pending = null;
      if (wait > 0) note();
      this.#fork(place, charge);
    };
    const pause = Math.max(this.#pauseOf(charge), wait);
    place.pending = { timer: setTimeout(start, pause), start, wait: pause };
  }

  /** While no worker lives, one place tries every second: the service is back soon after what it needs is. */
  #pauseOf({ place, readyAt }: Charge): number {
    const pause = place.crashes.add(readyAt);
    if (pause <= longestPause.started || this.#charges.size > 0) return pause;
    const slow = this.#places.every(({ pending }) => pending === null || pending.wait > longestPause.started);
    return slow ? longestPause.started : pause;
  }

  /** Replaces the workers one by one: each leaves when another serves in its place. */
  async #roll(): Promise<void> {
    for (const { worker } of this.#serving) worker.process.kill("SIGHUP");
    this.#rollAgain = true;
    if (this.#rolling) return;
    this.#rolling = true;
    while (this.#rollAgain && !this.#stopping) {
      this.#rollAgain = false;
      const replaced = await this.#rollOnce();
      if (this.#stopping) break;
      if (replaced) this.#target.logger.info("all workers were replaced");
      else this.#target.logger.error("the workers were not replaced, because another one does not start");
    }
    this.#rolling = false;
  }

  async #rollOnce(): Promise<boolean> {
    const starting = [...this.#charges].filter(({ readyAt }) => readyAt === null);
    for (const charge of [...this.#serving, ...starting]) {
      // One that is just starting may have loaded the program before it was changed.
      if (charge.readyAt === null && !(await started(charge))) continue;
      if (charge.replaced || this.#stopping) continue;
      if (!(await new Promise<boolean>((resolve) => this.#fork(charge.place, charge, resolve)))) return false;
      if (charge.replaced || this.#stopping) continue;
      charge.replaced = true;
      if (!send(charge, { stoa: "leave" })) charge.worker.process.kill("SIGTERM");
    }
    return true;
  }

  /** Workers read their certificates themselves; the keys of session tickets are one for all. */
  #keepTicketKeys(): void {
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

  /** The starter of the server gets the error. */
  #giveUp(reason: string): void {
    if (this.#stopping) return;
    const error = new StartError(reason);
    void this.stop().then(() => {
      this.#started.reject(error);
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

/** Node reads messages in its own format without a check: what it throws would end this process. */
function survivesInternalMessages(child: ChildProcess, onError: (error: unknown) => void): void {
  for (const listener of child.listeners("internalMessage")) {
    child.off("internalMessage", listener as () => void);
    child.on("internalMessage", (...received) => {
      try {
        Reflect.apply(listener, child, received);
      } catch (error) {
        onError(error);
      }
    });
  }
}

/** True when a worker that is starting is ready, false when it has ended before. */
function started(charge: Charge): Promise<boolean> {
  const { onStart } = charge;
  return new Promise((resolve) => {
    charge.onStart = (isReady) => {
      onStart(isReady);
      resolve(isReady);
    };
  });
}
