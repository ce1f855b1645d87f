import type { WorkerChannel } from "../../server/worker-channel.js";
import { type Family, mergeFamilies, type Sample } from "./family.js";

export interface WorkerMetricsOptions {
  readonly channel: WorkerChannel;
  /** What this worker has to tell. */
  readonly collect: () => Promise<readonly Family[]>;
  /** How many workers there should be. */
  readonly workers: number;
  /** Milliseconds to wait for the others. */
  readonly patience: number;
  /** Whether a process lives. */
  readonly isAlive?: (pid: number) => boolean;
}

/** A worker, as the others know it. */
interface Worker {
  readonly pid: number;
  /** When it was started, in milliseconds since 1970. */
  readonly since: number;
}

interface Message extends Worker {
  /** The question that this is, or that it answers. */
  readonly ask?: string;
  readonly reply?: string;
  readonly families: readonly Family[];
  /** Dead workers whose counts are in its own. */
  readonly inherited: readonly string[];
}

const topic = "metrics";
const maxInherited = 500;

/**
 * Makes one whole of the metrics of all workers. Whoever is scraped asks, and everybody hears every answer. A counter must
 * never fall, or whoever computes rates from it takes that for a restart and counts everything anew; so what a dead
 * worker last told is added to the counts of the oldest one that lives.
 */
export class WorkerMetrics {
  readonly #options: WorkerMetricsOptions;
  readonly #self: Worker = { pid: process.pid, since: Math.round(performance.timeOrigin) };
  readonly #others = new Map<string, Message>();
  #inheritance: readonly Family[] = [];
  #inherited: string[] = [];
  #asked = 0;
  #waiting: { readonly ask: string; readonly heard: Set<string>; readonly done: () => void } | null = null;
  #round: Promise<Family[]> | null = null;
  #nextRound: Promise<Family[]> | null = null;
  #unsubscribe: (() => void) | null = null;
  #hello: NodeJS.Timeout | undefined;

  constructor(options: WorkerMetricsOptions) {
    this.#options = options;
  }

  start(): void {
    const { channel, patience } = this.#options;
    if (!channel.open) return;
    this.#unsubscribe = channel.subscribe(topic, (message) => void this.#hear(message as Message));
    // A new worker learns what the others know, once the supervisor has noticed that it serves.
    this.#hello = setTimeout(() => void this.gather(), patience).unref();
  }

  /** Leaves the last counts to the others. */
  async stop(): Promise<void> {
    clearTimeout(this.#hello);
    if (!this.#unsubscribe) return;
    this.#unsubscribe();
    this.#unsubscribe = null;
    // The process exits after this.
    await (await this.#publish({})).sent;
  }

  /**
   * The metrics of the whole service. Those who want them while they are being gathered share the next round: the one
   * under way may have begun before what they know of was counted.
   */
  gather(): Promise<Family[]> {
    if (this.#round === null) {
      this.#round = this.#gather().finally(() => {
        this.#round = null;
      });
      return this.#round;
    }
    const again = (): Promise<Family[]> => {
      this.#nextRound = null;
      return this.gather();
    };
    this.#nextRound ??= this.#round.then(again, again);
    return this.#nextRound;
  }

  async #gather(): Promise<Family[]> {
    if (!this.#unsubscribe) return this.#own();
    const ask = `${keyOf(this.#self)}/${++this.#asked}`;
    const answered = this.#listen(ask);
    const { families: own } = await this.#publish({ ask });
    const heard = await answered;
    const others = [...this.#others].map(([key, { pid, families }]) => {
      // A worker that is too busy to answer is taken at its last word; of a dead one only counts still hold.
      return heard.has(key) || this.#isAlive(pid) ? families : countsOf(families);
    });
    return mergeFamilies([own, ...others]);
  }

  /** Waits for the answers of the others, but not for ever; resolves to who answered. */
  #listen(ask: string): Promise<Set<string>> {
    const heard = new Set<string>();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting = null;
        resolve(heard);
      };
      const timer = setTimeout(done, this.#options.patience);
      this.#waiting = { ask, heard, done };
      if (this.#options.workers <= 1) done();
    });
  }

  async #hear(message: Message): Promise<void> {
    const key = keyOf(message);
    this.#others.set(key, { ...message, families: message.families.map(restored) });
    for (const dead of message.inherited) this.#others.delete(dead);
    if (message.ask !== undefined) await this.#publish({ reply: message.ask });
    const waiting = this.#waiting;
    if (waiting === null || message.reply !== waiting.ask) return;
    waiting.heard.add(key);
    if (waiting.heard.size >= this.#options.workers - 1) waiting.done();
  }

  async #publish(about: { ask?: string; reply?: string }): Promise<{ families: Family[]; sent: Promise<void> }> {
    this.#inherit();
    const families = await this.#own();
    const message: Message = { ...this.#self, ...about, families, inherited: this.#inherited };
    return { families, sent: this.#options.channel.publish(topic, message) };
  }

  async #own(): Promise<Family[]> {
    const families = await this.#options.collect();
    return this.#inheritance.length === 0 ? [...families] : mergeFamilies([families, this.#inheritance]);
  }

  /** The oldest has heard all that was said since the others came, so it is the one to inherit. */
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

  #isAlive(pid: number): boolean {
    return (this.#options.isAlive ?? isAlive)(pid);
  }
}

function keyOf({ since, pid }: Worker): string {
  return `${since}-${pid}`;
}

function isOlder(a: Worker, b: Worker): boolean {
  return a.since < b.since || (a.since === b.since && a.pid < b.pid);
}

/** What does not end with the process that counted it. */
function countsOf(families: readonly Family[]): Family[] {
  return families.filter(({ type, merge }) => (type === "counter" || type === "histogram") && merge === "sum");
}

/** JSON has null for what is no finite number. */
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
