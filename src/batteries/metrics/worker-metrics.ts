import type { WorkerChannel } from "../../server/process/worker-channel.js";
import { type Family, mergeFamilies, type Sample } from "./family.js";

export interface WorkerMetricsOptions {
  readonly channel: WorkerChannel;
  /** The metrics of this worker. */
  readonly collect: () => Promise<readonly Family[]>;
  /** The number of workers of the server. */
  readonly workers: number;
  /** Milliseconds to wait for the others. */
  readonly patience: number;
  /** True if a process lives. */
  readonly isAlive?: (pid: number) => boolean;
  /** Milliseconds, never set back. */
  readonly clock?: () => number;
}

/** A worker, as the others know it. */
interface Worker {
  readonly pid: number;
  /** The time of its start, in milliseconds since 1970. */
  readonly since: number;
}

interface Message extends Worker {
  /** The identifier of a request for metrics: `ask` in the request, `reply` in the replies to it. */
  readonly ask?: string;
  readonly reply?: string;
  readonly families: readonly Family[];
  /** Dead workers whose counts are in its own. */
  readonly inherited: readonly string[];
}

const topic = "metrics";
const maxInherited = 500;
/** Milliseconds for which all workers keep the result of a round, no matter which of them started it. */
const keptFor = 1000;
/**
 * The same after a round in which a worker did not reply: each request to that worker waits in the supervisor's memory.
 */
const keptLonger = 5000;

/**
 * Merges the metrics of all workers. The worker that is scraped asks the others, and all of them receive every reply. A
 * counter must never fall: that would be taken for a restart and counted again. So the last counts of a dead worker are
 * added to those of the oldest living one, and between two rounds all workers show the result of the last one.
 */
export class WorkerMetrics {
  readonly #self: Worker = { pid: process.pid, since: Math.round(performance.timeOrigin) };
  readonly #others = new Map<string, Message>();
  #inheritance: readonly Family[] = [];
  #inherited: string[] = [];
  #asked = 0;
  #waiting: { readonly ask: string; readonly heard: Set<string>; readonly done: () => void } | null = null;
  #round: Promise<Family[]> | null = null;
  /** The end of the time for which the last round is kept, and the metrics that this worker sent in it. */
  #keptUntil = Number.NEGATIVE_INFINITY;
  #told: readonly Family[] = [];
  /** All metrics sent and received so far, merged; null after something new was sent or received. */
  #merged: Family[] | null = null;
  /** True while the last message has not been sent: a supervisor that does not read must not be sent more. */
  #sending = false;
  #sent: Promise<void> = Promise.resolve();
  #unsubscribe: (() => void) | null = null;
  #hello: NodeJS.Timeout | undefined;

  constructor(private readonly options: WorkerMetricsOptions) {}

  start(): void {
    const { channel, patience } = this.options;
    if (!channel.open) return;
    this.#unsubscribe = channel.subscribe(topic, (message) => void this.#hear(message as Message));
    // A new worker gets the metrics of the others once the supervisor has noticed that it serves.
    this.#hello = setTimeout(() => void this.gather(), patience).unref();
  }

  /** Leaves the last counts to the others. */
  async stop(): Promise<void> {
    clearTimeout(this.#hello);
    if (!this.#unsubscribe) return;
    this.#unsubscribe();
    this.#unsubscribe = null;
    // The process exits after this.
    await this.#publish({});
    await this.#sent;
  }

  /** The metrics of the whole service: at most a second old with several workers, else as they are now. */
  gather(): Promise<Family[]> {
    if (!this.#unsubscribe) return this.#own();
    if (this.#round !== null) return this.#round;
    if (this.#now() < this.#keptUntil) return Promise.resolve(this.#merge());
    this.#round = this.#gather().finally(() => {
      this.#round = null;
    });
    return this.#round;
  }

  async #gather(): Promise<Family[]> {
    const ask = `${keyOf(this.#self)}/${++this.#asked}`;
    const answered = this.#listen(ask);
    if (!this.#sending) await this.#publish({ ask });
    const heard = await answered;
    const complete = heard.size >= this.options.workers - 1;
    this.#keptUntil = this.#now() + (complete ? keptFor : keptLonger);
    return this.#merge(heard);
  }

  #merge(heard?: ReadonlySet<string>): Family[] {
    if (this.#merged !== null) return this.#merged;
    const others = [...this.#others].map(([key, { pid, families }]) => {
      // The last reply of a worker that is too busy to reply is still valid; of a dead worker only the counts are.
      return heard?.has(key) || this.#isAlive(pid) ? families : countsOf(families);
    });
    return (this.#merged = mergeFamilies([this.#told, ...others]));
  }

  /** Waits for the replies of the others, up to `patience`; resolves to the workers that replied. */
  #listen(ask: string): Promise<Set<string>> {
    const heard = new Set<string>();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting = null;
        resolve(heard);
      };
      const timer = setTimeout(done, this.options.patience);
      this.#waiting = { ask, heard, done };
      if (this.options.workers <= 1) done();
    });
  }

  async #hear(message: Message): Promise<void> {
    const key = keyOf(message);
    this.#others.set(key, { ...message, families: message.families.map(restored) });
    for (const dead of message.inherited) this.#others.delete(dead);
    this.#merged = null;
    if (message.ask !== undefined && !this.#sending) {
      await this.#publish({ reply: message.ask });
      this.#keptUntil = Math.max(this.#keptUntil, this.#now() + keptFor);
    }
    const waiting = this.#waiting;
    if (waiting === null || message.reply !== waiting.ask) return;
    waiting.heard.add(key);
    if (waiting.heard.size >= this.options.workers - 1) waiting.done();
  }

  async #publish(about: { ask?: string; reply?: string }): Promise<void> {
    this.#inherit();
    this.#told = await this.#own();
    this.#merged = null;
    const message: Message = { ...this.#self, ...about, families: this.#told, inherited: this.#inherited };
    this.#sending = true;
    this.#sent = this.options.channel.publish(topic, message).then(() => {
      this.#sending = false;
    });
  }

  async #own(): Promise<Family[]> {
    const families = await this.options.collect();
    return this.#inheritance.length === 0 ? [...families] : mergeFamilies([families, this.#inheritance]);
  }

  /** The oldest worker has received all messages since the others started, so it inherits. */
  #inherit(): void {
    const living = [...this.#others.values()].filter(({ pid }) => this.#isAlive(pid));
    if (living.some((other) => isOlder(other, this.#self))) return;
    for (const [key, { pid, families, inherited }] of this.#others) {
      if (this.#isAlive(pid)) continue;
      this.#others.delete(key);
      this.#inheritance = mergeFamilies([this.#inheritance, countsOf(families)]);
      this.#inherited = [...this.#inherited, key, ...inherited].slice(-maxInherited);
    }
  }

  #now(): number {
    return (this.options.clock ?? (() => performance.now()))();
  }

  #isAlive(pid: number): boolean {
    return (this.options.isAlive ?? isAlive)(pid);
  }
}

function keyOf({ since, pid }: Worker): string {
  return `${since}-${pid}`;
}

function isOlder(a: Worker, b: Worker): boolean {
  return a.since < b.since || (a.since === b.since && a.pid < b.pid);
}

/** The families that outlive the process that counted them. */
function countsOf(families: readonly Family[]): Family[] {
  return families.filter(({ type, merge }) => (type === "counter" || type === "histogram") && merge === "sum");
}

/** JSON writes null for numbers that are not finite. */
function restored(family: Family): Family {
  return { ...family, samples: family.samples.map(([series, value]): Sample => [series, value ?? Number.NaN]) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
