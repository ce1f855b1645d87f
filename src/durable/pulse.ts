import { createRequire } from "node:module";
import type { Worker } from "node:worker_threads";
import type { Database } from "../engines/db/database.js";
import type { Logger } from "../kit/logger.js";
import { nodeCrypto } from "../kit/node-modules.js";
import { LoopWatch } from "../kit/time/loop-watch.js";
import { machineId } from "../server/process/machine.js";
import { silentText } from "./blocked-workers.js";
import { pulseProgram } from "./pulse-thread.js";

/** Milliseconds of a silent event loop after which its leases may be taken: it will hardly come back. */
const longestSilence = 300_000;
/** The most pieces of work that the log names. */
const mostNamed = 5;
/** Milliseconds without a turn that are worth a line in the log, if half of the shortest lease is less. */
const shortestBlock = 1000;
/** Milliseconds between two looks at the way to the database: passwords that expire are replaced with new connections. */
const routeInterval = 60_000;

/** A name for the owner of leases, which no other has: the machine, the process and a random part. */
export function newOwner(): string {
  return `${machineId()} ${process.pid} ${nodeCrypto().randomUUID()}`;
}

/** The machine and the process that an owner names. */
export function holderOf(owner: string): { readonly machine: string; readonly process: string } {
  const parts = owner.split(" ");
  return { machine: parts.slice(0, -2).join(" "), process: parts.at(-2) ?? owner };
}

/** A group of leases of this process. */
export interface PulseMember {
  readonly schema: string;
  readonly owner: string;
  readonly leaseMs: number;
  /** The names of the work in progress. */
  running(): Iterable<string>;
}

const pulses = new WeakMap<Database, Pulse>();

/** The pulse of the leases that this process has in a database. */
export function pulseOf(db: Database, logger: Logger): Pulse {
  let pulse = pulses.get(db);
  if (pulse === undefined) pulses.set(db, (pulse = new Pulse(db, logger)));
  return pulse;
}

/**
 * Keeps the leases of this process while its event loop is blocked. The heartbeats are timers of the main thread: work that
 * blocks for longer than its lease would lose it, be begun by another worker and lose it there too. A thread watches the turns of
 * the event loop. When there are none, it says so in the database (`silent_workers`), and other workers leave the leases alone;
 * after five minutes without a turn it stops. An embedded database has no other workers, and needs no thread.
 */
class Pulse {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #members = new Set<PulseMember>();
  readonly #turns = new Int32Array(new SharedArrayBuffer(4));
  #thread: Worker | null = null;
  #watch: LoopWatch | null = null;
  #starting: Promise<void> = Promise.resolve();
  #period = 0;
  #toldAt = 0;

  constructor(db: Database, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
  }

  /** Adds a group of leases; the returned function removes it. */
  async join(member: PulseMember): Promise<() => Promise<void>> {
    this.#members.add(member);
    await this.#change();
    return async () => {
      this.#members.delete(member);
      await this.#change();
    };
  }

  #change(): Promise<void> {
    return (this.#starting = this.#starting.then(() => this.#update()));
  }

  async #update(): Promise<void> {
    this.#watch?.stop();
    this.#watch = null;
    if (this.#members.size === 0) {
      const thread = this.#thread;
      this.#thread = null;
      await thread?.terminate();
      return;
    }
    this.#period = Math.max(Math.min(...[...this.#members].map(({ leaseMs }) => leaseMs)) / 6, 20);
    this.#watch = new LoopWatch(this.#period / 2, (late) => this.#beat(late + this.#period / 2));
    if (this.#db.engine === "postgres") this.#thread ??= await this.#startThread();
    this.#tell();
  }

  async #startThread(): Promise<Worker | null> {
    const { Worker } = await import("node:worker_threads");
    let pg: string;
    try {
      pg = createRequire(import.meta.url).resolve("pg");
    } catch {
      // It is part of a bundle.
      this.#logger.info(
        "the package 'pg' is not beside the program: work that blocks the event loop can lose its lease",
      );
      return null;
    }
    let thread: Worker;
    try {
      thread = new Worker(pulseProgram, {
        eval: true,
        name: "stoa leases",
        // Neither the loaders nor the preloaded modules of the program.
        execArgv: [],
        workerData: { turns: this.#turns, pg, silence: longestSilence },
        resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4, stackSizeMb: 2 },
      });
    } catch (error) {
      // Node's permission model, or a limit of the system.
      this.#logger.warn("work that blocks the event loop can lose its lease: no thread can keep it", { error });
      return null;
    }
    thread.unref();
    thread.on("error", (error) => {
      this.#logger.warn("work that blocks the event loop can lose its lease: the thread that keeps it has failed", {
        error,
      });
    });
    return thread;
  }

  /** Tells the thread what it is to say in the database. */
  #tell(): void {
    this.#toldAt = performance.now();
    const groups = new Map<string, PulseMember[]>();
    for (const member of this.#members) groups.set(member.schema, [...(groups.get(member.schema) ?? []), member]);
    const statements = [...groups].map(([schema, members]) => ({
      text: silentText(schema),
      values: [members.map(({ owner }) => owner), Math.max(...members.map(({ leaseMs }) => leaseMs))],
    }));
    this.#thread?.postMessage({ statements, route: this.#db.route ?? null, period: this.#period });
  }

  #beat(silence: number): void {
    Atomics.add(this.#turns, 0, 1);
    if (silence > Math.max(this.#period * 3, shortestBlock)) this.#report(silence);
    if (performance.now() - this.#toldAt > routeInterval) this.#tell();
  }

  #report(silence: number): void {
    const work = [...this.#members].flatMap((member) => [...member.running()]);
    const [blocked] = [...blocks].sort((a, b) => b.ms - a.ms);
    blocks.length = 0;
    if (work.length === 0 && blocked === undefined) return;
    const fields = {
      work: blocked === undefined ? work.slice(0, mostNamed) : [blocked.name],
      blockedMs: Math.round(silence),
    };
    this.#logger.warn("the event loop was blocked for long; work of a second or more belongs in a thread", fields);
  }
}

/** Calls that have blocked the event loop since the last report. */
const blocks: { readonly name: string; readonly ms: number }[] = [];
/** Milliseconds of a call that are worth a note. */
const noted = 500;
const mostNoted = 20;

/** Calls a function of the user, and notes its name if the call itself takes long. */
export function watched<T>(name: () => string, run: () => T): T {
  const begin = performance.now();
  try {
    return run();
  } finally {
    const ms = performance.now() - begin;
    if (ms > noted && blocks.length < mostNoted) blocks.push({ name: name(), ms });
  }
}
