import { Lease } from "../../durable/lease.js";
import { Wake } from "../../durable/wake.js";
import { isInstance } from "../../errors/describe.js";
import type { Logger } from "../../kit/logger.js";
import { backoff } from "../../kit/time/backoff.js";
import { sleep } from "../../kit/time/within.js";
import type { RecordedEvent } from "./event.js";
import type { Claim, EventStorage, ReadFilter } from "./storage/storage.js";
import type { Upcasters } from "./upcasters.js";

const firstPause = 100;
const longestPause = 30_000;

export interface RunnerSettings {
  readonly name: string;
  readonly filter: ReadFilter;
  readonly start: "beginning" | "end";
  /** The position at which it begins if it has no checkpoint, in place of `start`; null for `start`. */
  inherited?(): Promise<number | null>;
  readonly batch: number;
  readonly skipAfter: number;
  readonly owner: string;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** False if other workers should take it. */
  mayTake?(): boolean;
  /** True if this worker should give it back. */
  shouldGive?(): boolean;
}

/** Events to handle, and the claim under which this is done. */
export interface Batch {
  readonly events: readonly RecordedEvent[];
  /** The position of the checkpoint before these events. */
  readonly from: number;
  /** The position of the checkpoint after these events. */
  readonly upTo: number;
  readonly token: number;
  /** True if no event follows them yet. */
  readonly last: boolean;
  readonly signal: AbortSignal;
  /** True while no other worker can have the claim: asked before each event that has effects outside of the database. */
  isHeld(): boolean;
}

/** The state of a subscription in this process. */
export interface RunnerProgress {
  readonly name: string;
  /** True if this process has the claim. */
  readonly active: boolean;
  /** Positions between the checkpoint and the newest event. */
  readonly lag: number;
  /** Failures of the present event in a row. */
  readonly failures: number;
  readonly error: unknown;
}

/** Thrown by a processor whose claim has passed to another worker. */
export class ClaimLost extends Error {
  override name = "ClaimLost";
}

/** Handles the events of a batch and moves the checkpoint; returns the position it has reached. `end` ends the runner. */
export type Processor = (batch: Batch) => Promise<number | "end">;

/** Runs one subscription in this process: claims it, catches up, then waits for events. */
export class SubscriptionRunner {
  readonly #wake = new Wake();
  readonly #stop = new AbortController();
  readonly #window = new ReadWindow();
  readonly #running: Promise<void>;
  /** True while events are handled. */
  #working = false;
  #progress: Omit<RunnerProgress, "name"> = { active: false, lag: 0, failures: 0, error: null };

  constructor(
    readonly settings: RunnerSettings,
    readonly storage: EventStorage,
    readonly upcasters: Upcasters,
    readonly logger: Logger,
    readonly process: Processor,
  ) {
    const off = storage.onChange(this.#wake.wake);
    this.#running = this.#run().finally(off);
  }

  /** Ends after the work in progress. */
  close(): Promise<void> {
    this.#stop.abort();
    this.#wake.wake();
    return this.#running;
  }

  get progress(): RunnerProgress {
    return { name: this.settings.name, ...this.#progress };
  }

  /** True while events are handled. */
  get working(): boolean {
    return this.#working;
  }

  /** True once it has ended by itself or was closed. */
  get ended(): boolean {
    return this.#stop.signal.aborted;
  }

  async #run(): Promise<void> {
    const { name, pollMs } = this.settings;
    for (let failures = 0; !this.ended; ) {
      try {
        const lease = await this.#claim();
        if (lease === null) await this.#wake.wait(pollMs);
        else await this.#hold(lease);
        failures = 0;
      } catch (error) {
        if (this.ended) return;
        this.logger.error("a subscription failed and is tried again", { subscription: name, error });
        await sleep(backoff(failures++, firstPause, longestPause), this.#stop.signal);
      }
    }
  }

  async #claim(): Promise<Lease<Claim> | null> {
    const { name, owner, leaseMs, start } = this.settings;
    if (this.settings.mayTake?.() === false) return null;
    const inherited = await this.settings.inherited?.();
    const position = inherited ?? (start === "end" ? await this.storage.highWaterMark() : 0);
    const source = {
      name: `the subscription ${name}`,
      claim: () => this.storage.claim(name, owner, leaseMs, position),
      renew: (token: number) => this.storage.renew(name, token, leaseMs),
      release: (token: number) => this.storage.release(name, token),
    };
    return Lease.claim(source, leaseMs, this.logger);
  }

  /** Works under a claim until it is lost or the subscription ends. */
  async #hold(lease: Lease<Claim>): Promise<void> {
    this.#progress = { ...this.#progress, active: true };
    try {
      await this.#consume(lease, AbortSignal.any([lease.lost, this.#stop.signal]));
    } catch (error) {
      if (!isInstance(error, ClaimLost)) throw error;
      this.logger.warn("a subscription has passed to another worker", { subscription: this.settings.name });
    } finally {
      this.#progress = { ...this.#progress, active: false };
      await lease.release();
    }
  }

  async #consume(lease: Lease<Claim>, signal: AbortSignal): Promise<void> {
    const { filter, batch, pollMs, name, skipAfter } = this.settings;
    const { token } = lease.claim;
    let { position } = lease.claim;
    const isHeld = (): boolean => lease.held;
    for (let failures = 0; !signal.aborted; ) {
      // A lease that is over, and that no other owner has taken, continues: the process was paused or blocked.
      if (!lease.held && !(await lease.renew())) throw new ClaimLost();
      if (this.settings.shouldGive?.() === true) {
        this.#progress = { ...this.#progress, active: false };
        return;
      }
      const mark = await this.storage.highWaterMark();
      this.#progress = { ...this.#progress, active: true, lag: Math.max(mark - position, 0), failures };
      if (mark <= position && failures === 0) {
        await this.#wake.wait(pollMs);
        continue;
      }
      // After a failure the events are handled one by one, so that only the one that fails is retried.
      const limit = failures > 0 ? 1 : batch;
      const end = Math.min(mark, position + this.#window.size);
      const found = await this.#window.read(() => this.storage.readAll(filter, position, end, false, limit));
      const last = found.length < limit && end === mark;
      const upTo = found.length < limit ? end : found.at(-1)!.position;
      this.#working = true;
      try {
        const events = await this.upcasters.read(found);
        const reached = await this.process({ events, from: position, upTo, token, last, signal, isHeld });
        if (reached === "end") return this.#stop.abort();
        position = reached;
        failures = 0;
      } catch (error) {
        if (signal.aborted || isInstance(error, ClaimLost)) throw error;
        failures++;
        this.#progress = { ...this.#progress, failures, error };
        const event = found[0];
        const fields = { subscription: name, position: event?.position, type: event?.type, failures, error };
        if (limit === 1 && event !== undefined && failures > skipAfter) {
          this.logger.error("an event was skipped because its handler kept failing", fields);
          if (!(await this.storage.advance(name, token, event.position))) throw new ClaimLost();
          position = event.position;
          failures = 0;
        } else {
          this.logger.error("the handler of an event failed and is tried again", fields);
          // The first retry finds out which event fails; it does not wait.
          if (limit === 1 || found.length <= 1) await sleep(backoff(failures, firstPause, longestPause), signal);
          // The checkpoint may have moved, and only the response been lost: the events before it are done.
          position = (await this.storage.checkpoint(name)) ?? position;
        }
      } finally {
        this.#working = false;
      }
    }
  }
}

const smallest = 1000;
const largest = 10_000_000;
/** Milliseconds of a read below which the next window is larger, and above which it is smaller. */
const short = 100;
const long = 1000;

/**
 * The number of positions that one read of a subscription looks at. Events of a rare type can be millions of positions apart: a
 * read up to the newest event would take longer than a statement may. The checkpoint moves with each window, also with one that
 * has no events, so a subscription that begins gets on whatever the distance.
 */
class ReadWindow {
  #size = 10_000;

  get size(): number {
    return this.#size;
  }

  async read<T>(run: () => Promise<T>): Promise<T> {
    const begin = performance.now();
    let isRead = false;
    try {
      const result = await run();
      isRead = true;
      return result;
    } finally {
      const took = performance.now() - begin;
      if (took > long) this.#size = Math.max(Math.floor(this.#size / 4), smallest);
      // A database that is down refuses fast.
      else if (isRead && took < short) this.#size = Math.min(this.#size * 2, largest);
    }
  }
}
