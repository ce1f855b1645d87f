import type { Logger } from "../../internal/logger.js";
import { backoff, Wake } from "../storage/wake.js";
import type { RecordedEvent } from "./event.js";
import type { Claim, EventStorage, ReadFilter } from "./storage.js";
import type { Upcasters } from "./upcasters.js";

const firstPause = 100;
const longestPause = 30_000;

export interface RunnerSettings {
  readonly name: string;
  readonly filter: ReadFilter;
  readonly start: "beginning" | "end";
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
  /** True if there is nothing after them for now. */
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

/**
 * A moment by two clocks. The first only moves forward, but stands still while the machine sleeps; the second goes on then,
 * but can be set. What has passed by one of them has passed.
 */
interface Moment {
  readonly clock: number;
  readonly time: number;
}

function momentIn(milliseconds: number): Moment {
  return { clock: performance.now() + milliseconds, time: Date.now() + milliseconds };
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
  readonly #running: Promise<void>;
  /**
   * The end of the lease: a process that was paused for too long, or cannot renew its lease, handles nothing more until it has
   * asked again.
   */
  #heldUntil: Moment = { clock: 0, time: 0 };
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

  /** True once it has ended by itself or was closed. */
  get ended(): boolean {
    return this.#stop.signal.aborted;
  }

  async #run(): Promise<void> {
    const { name, pollMs } = this.settings;
    for (let failures = 0; !this.ended; ) {
      try {
        const claim = await this.#claim();
        if (claim === null) await this.#wake.wait(pollMs);
        else await this.#hold(claim);
        failures = 0;
      } catch (error) {
        if (this.ended) return;
        this.logger.error("a subscription failed and is tried again", { subscription: name, error });
        await this.#pause(backoff(failures++, firstPause, longestPause));
      }
    }
  }

  async #claim(): Promise<Claim | null> {
    const { name, owner, leaseMs, start } = this.settings;
    if (this.settings.mayTake?.() === false) return null;
    const position = start === "end" ? await this.storage.highWaterMark() : 0;
    const end = momentIn(leaseMs);
    const claim = await this.storage.claim(name, owner, leaseMs, position);
    this.#heldUntil = end;
    if (claim !== null) this.#progress = { ...this.#progress, active: true };
    return claim;
  }

  /** Works under a claim and renews it, until it is lost or the subscription ends. */
  async #hold(claim: Claim): Promise<void> {
    const { name, leaseMs } = this.settings;
    const lost = new AbortController();
    let renewing: Promise<void> | null = null;
    const timer = setInterval(() => {
      renewing ??= this.#keepHeld(claim.token, lost).finally(() => (renewing = null));
    }, leaseMs / 3);
    try {
      await this.#consume(claim, AbortSignal.any([lost.signal, this.#stop.signal]));
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error;
      this.logger.warn("a subscription has passed to another worker", { subscription: name });
    } finally {
      clearInterval(timer);
      this.#progress = { ...this.#progress, active: false };
      await renewing;
      if (!lost.signal.aborted) await this.storage.release(name, claim.token).catch(() => {});
    }
  }

  readonly #isHeld = (): boolean => performance.now() < this.#heldUntil.clock && Date.now() < this.#heldUntil.time;

  async #keepHeld(token: number, lost: AbortController): Promise<void> {
    try {
      if (!(await this.#renew(token))) lost.abort();
    } catch (error) {
      this.logger.warn("a lease was not renewed", { subscription: this.settings.name, error });
      if (!this.#isHeld()) lost.abort();
    }
  }

  /** False if another worker has the claim. One that is over, and that nobody has taken, goes on. */
  async #renew(token: number): Promise<boolean> {
    const { name, leaseMs } = this.settings;
    const end = momentIn(leaseMs);
    const held = await this.storage.renew(name, token, leaseMs);
    if (held) this.#heldUntil = end;
    return held;
  }

  async #consume({ token, position }: Claim, signal: AbortSignal): Promise<void> {
    const { filter, batch, pollMs, name, skipAfter } = this.settings;
    for (let failures = 0; !signal.aborted; ) {
      if (!this.#isHeld() && !(await this.#renew(token))) throw new ClaimLost();
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
      const found = await this.storage.readAll(filter, position, mark, false, limit);
      const last = found.length < limit;
      const upTo = last ? mark : found.at(-1)!.position;
      try {
        const events = await this.upcasters.read(found);
        const reached = await this.process({ events, from: position, upTo, token, last, signal, isHeld: this.#isHeld });
        if (reached === "end") return this.#stop.abort();
        position = reached;
        failures = 0;
      } catch (error) {
        if (signal.aborted || error instanceof ClaimLost) throw error;
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
          if (limit === 1 || found.length <= 1) await this.#pause(backoff(failures, firstPause, longestPause), signal);
          // The checkpoint may have moved, and only the response been lost: the events before it are done.
          position = (await this.storage.checkpoint(name)) ?? position;
        }
      }
    }
  }

  async #pause(milliseconds: number, signal: AbortSignal = this.#stop.signal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal.addEventListener("abort", done);
    });
  }
}
