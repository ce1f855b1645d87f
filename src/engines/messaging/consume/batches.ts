import { sleep } from "../../../kit/time/within.js";
import type { RetryLater } from "./conclude.js";
import type { Ended, InFlightMessage, WorkResult } from "./in-flight-message.js";
import { type Flow, type IsHeld, Quiet } from "./lanes.js";

/** A delivery in a batch, with the attempts that were made. */
export interface Batched {
  readonly inFlight: InFlightMessage;
  attempts: number;
}

interface Entry extends Batched {
  /** The place in the order of deliveries. */
  readonly number: number;
  /** True if the next attempt is for this message alone. */
  alone: boolean;
}

interface BatchesParts {
  readonly size: number;
  /** Milliseconds that a batch waits until it is full. */
  readonly wait: number;
  readonly concurrency: number;
  /** True if a message that waits for its next attempt holds up all others, not only those of its key. */
  readonly strict: boolean;
  readonly stopping: AbortSignal;
  attemptsOf(inFlight: InFlightMessage): number;
  /** Handles a batch. The results are in its order. Must not reject. */
  work(batch: readonly Batched[]): Promise<readonly (WorkResult | RetryLater)[]>;
  readonly ended: Ended;
}

/**
 * Handles messages in batches, in the order of their deliveries. Messages of one key are never in two batches at a time, and
 * one that waits for its next attempt holds up those of its key. A message whose batch has failed for the last time is a
 * separate batch.
 */
export class Batches implements Flow<InFlightMessage> {
  readonly #parts: BatchesParts;
  /** In the order of their numbers. */
  #queue: Entry[] = [];
  /** Keys with messages in a batch that runs, or that wait for their next attempt. */
  readonly #busy = new Set<string>();
  readonly #idle: (() => void)[] = [];
  readonly #running = new Set<readonly Entry[]>();
  readonly #quiet = new Quiet<InFlightMessage>(() => [...this.#running].flat().map(({ inFlight }) => inFlight));
  #isHeld: IsHeld<InFlightMessage> = () => false;
  #number = 0;
  #entries = 0;
  /** Messages of the queue that are a separate batch each. */
  #alone = 0;
  #timer: NodeJS.Timeout | null = null;
  #soon = false;

  constructor(parts: BatchesParts) {
    this.#parts = parts;
    parts.stopping.addEventListener("abort", () => this.#start(), { once: true });
  }

  get running(): number {
    return this.#running.size;
  }

  add(inFlight: InFlightMessage): void {
    this.#entries++;
    this.#queue.push({ inFlight, attempts: this.#parts.attemptsOf(inFlight), number: this.#number++, alone: false });
    this.#next();
  }

  withoutSlot<T>(_task: InFlightMessage, wait: () => Promise<T>): Promise<T> {
    return wait();
  }

  pause(isHeld: IsHeld<InFlightMessage> = () => true): void {
    this.#isHeld = isHeld;
    this.#next();
  }

  resume(): void {
    this.#isHeld = () => false;
    this.#next();
  }

  quiet(isHeld?: IsHeld<InFlightMessage>): Promise<void> {
    return this.#quiet.wait(isHeld);
  }

  idle(): Promise<void> {
    if (this.#entries === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Starts a batch: in the next turn, so that messages that arrive together are in it, or when it is full or late. */
  #next(): void {
    const { wait, size, stopping } = this.#parts;
    if (this.#queue.length === 0) return;
    if (wait > 0 && this.#queue.length < size && this.#alone === 0 && !stopping.aborted) {
      this.#timer ??= setTimeout(() => this.#start(), wait);
      return;
    }
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#start();
    });
  }

  #start(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#running.size < this.#parts.concurrency) {
      const batch = this.#take();
      if (batch.length === 0) return;
      this.#running.add(batch);
      void this.#run(batch);
      // The rest is no full batch: it waits for its own time.
      if (this.#queue.length < this.#parts.size) {
        this.#next();
        return;
      }
    }
  }

  #take(): Entry[] {
    const { size } = this.#parts;
    const batch: Entry[] = [];
    const rest: Entry[] = [];
    /** Keys with a message that is passed over here: those after it must not overtake. */
    const passed = new Set<string>();
    let full = false;
    for (const entry of this.#queue) {
      // Those of its key are held too: none overtakes.
      if (this.#isHeld(entry.inFlight)) {
        rest.push(entry);
        continue;
      }
      const key = this.#keyOf(entry);
      const free = key === null || !(this.#busy.has(key) || passed.has(key));
      if (!full && free && !(entry.alone && batch.length > 0)) {
        batch.push(entry);
        full = entry.alone || batch.length === size;
        continue;
      }
      rest.push(entry);
      if (key !== null) passed.add(key);
    }
    this.#queue = rest;
    if (batch[0]?.alone) this.#alone--;
    for (const entry of batch) {
      const key = this.#keyOf(entry);
      if (key !== null) this.#busy.add(key);
    }
    return batch;
  }

  async #run(batch: readonly Entry[]): Promise<void> {
    const results = await this.#parts.work(batch);
    const keys = new Set(batch.map((entry) => this.#keyOf(entry)));
    const waiting = new Map<string, { entries: Entry[]; pause: number }>();
    for (const [place, entry] of batch.entries()) {
      const result = results[place]!;
      if (typeof result === "string") {
        this.#end(entry, result);
        continue;
      }
      entry.attempts = result.attempts;
      entry.alone = result.alone ?? false;
      const key = this.#keyOf(entry);
      if (key === null) {
        void this.#later([entry], result.pause, null);
        continue;
      }
      const group = waiting.get(key) ?? { entries: [], pause: 0 };
      group.entries.push(entry);
      group.pause = Math.max(group.pause, result.pause);
      waiting.set(key, group);
    }
    for (const key of keys) {
      if (key === null) continue;
      const group = waiting.get(key);
      // The key stays busy until the next attempt: those after it wait.
      if (group === undefined) this.#busy.delete(key);
      else void this.#later(group.entries, group.pause, key);
    }
    this.#running.delete(batch);
    this.#quiet.check();
    this.#next();
  }

  async #later(entries: readonly Entry[], pause: number, key: string | null): Promise<void> {
    for (const { inFlight } of entries) {
      inFlight.renew();
      // Where it holds up all others, nothing can be taken during that time.
      if (!this.#parts.strict) inFlight.delivery.wait?.();
    }
    await sleep(pause, this.#parts.stopping, entries[0]!.inFlight.signal);
    if (key !== null) this.#busy.delete(key);
    for (const { alone } of entries) if (alone) this.#alone++;
    this.#queue = [...entries, ...this.#queue].sort((a, b) => a.number - b.number);
    this.#next();
  }

  #end(entry: Entry, result: WorkResult): void {
    this.#parts.ended(entry.inFlight, result);
    if (--this.#entries === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #keyOf({ inFlight }: Entry): string | null {
    return this.#parts.strict ? "" : inFlight.delivery.record.key;
  }
}
