import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../kit/logger.js";
import { backoff } from "../kit/time/backoff.js";
import { Term } from "../kit/time/term.js";
import { type FlagReader, within } from "../kit/time/within.js";
import { Flag } from "./flag.js";
import type { Gate } from "./gate.js";
import { Heartbeat } from "./lease.js";
import { Wake } from "./wake.js";

/**
 * Milliseconds between two claims while work arrives or ends piece by piece: the pieces are claimed together. The first
 * claim after a quiet time does not wait.
 */
const gatherMs = 5;
/** Milliseconds between two looks for the next due item while claims find work: each claim takes all that is due. */
const lookMs = 20;

/** Work that one process at a time may do. Each claim has a higher token than the one before. */
export interface Leased {
  readonly id: string;
  readonly token: number;
}

/** The state of a claim at a renewal. A claim that is absent was lost. */
export type Renewals = ReadonlyMap<string, "held" | "cancel">;

/** The work itself. All times are those of the database's clock. */
export interface WorkSource<Item extends Leased> {
  /** Claims up to `limit` items that are due, except those that this worker has in progress. */
  claim(limit: number, inProgress: readonly string[]): Promise<readonly Item[]>;
  renew(items: readonly Leased[]): Promise<Renewals>;
  /** Milliseconds until the next item is due, or its lease ends; null if there is none. */
  nextDue(): Promise<number | null>;
  /** Does the work, and calls `end` once. It must check its token with every write. */
  run(item: Item, signals: WorkSignals, end: WorkEnd): void;
  /** The name of an item, for the log. */
  describe?(item: Item): string;
}

/**
 * Ends the work on an item. `again` is true if the item may be due again. An error is logged and the lease left to end. A
 * function and not a promise: a small job costs as much as a few promises.
 */
export type WorkEnd = (again: boolean, error?: unknown) => void;

export interface WorkSignals {
  /** Aborted when the claim was lost: stop, and write nothing. */
  readonly lost: FlagReader;
  /** Aborted when the end of this work was requested. */
  readonly cancelled: FlagReader;
  /** Aborted when the process ends: finish the present step. */
  readonly draining: FlagReader;
}

export interface WorkerSettings {
  readonly name: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Claims and the work in progress are inside of it. */
  readonly gate: Gate;
}

interface Running {
  readonly item: Leased;
  readonly lost: Flag;
  readonly cancelled: Flag;
  readonly draining: Flag;
  /** Items that were claimed or renewed together share one. */
  term: Term;
}

/** Claims work as long as there is room, renews the leases, and drains at the end. */
export class LeasedWorker<Item extends Leased> {
  readonly #running = new Map<string, Running>();
  readonly #wake = new Wake();
  readonly #draining = new Flag();
  /** True if the last claim has left nothing that is due. */
  #hasAll = false;
  #whenIdle: (() => void) | null = null;
  readonly #loop: Promise<void>;
  readonly #heartbeat: Heartbeat;

  constructor(
    readonly settings: WorkerSettings,
    readonly source: WorkSource<Item>,
    readonly logger: Logger,
  ) {
    this.#heartbeat = new Heartbeat(settings.leaseMs, () => this.#renew());
    this.#loop = this.#run();
  }

  readonly wake = (): void => this.#wake.wake();

  /** The names of the items in progress. */
  running(): string[] {
    return [...this.#running.values()].map(({ item }) => this.source.describe?.(item as Item) ?? item.id);
  }

  /** Takes no more work, and waits for the work in progress up to a limit. Later its leases end by themselves. */
  async drain(graceMs: number): Promise<void> {
    this.#draining.abort();
    this.#wake.wake();
    await this.#loop;
    const all = new Promise<void>((resolve) => {
      if (this.#running.size === 0) resolve();
      else this.#whenIdle = resolve;
    });
    if (await within(all, graceMs, () => true)) {
      this.logger.warn(`${this.settings.name} did not end within ${graceMs} ms; others continue with them`);
      for (const { lost } of this.#running.values()) lost.abort();
    }
    await this.#heartbeat.stop();
  }

  async #run(): Promise<void> {
    const { concurrency, leaseMs, gate } = this.settings;
    // A lease that begins after a look, of a worker that dies, ends after this time.
    const pollMs = Math.min(this.settings.pollMs, leaseMs);
    let claimedAt = -Infinity;
    let lookedAt = -Infinity;
    let missed = 0;
    for (let failures = 0; !this.#draining.aborted; ) {
      let pause = 0;
      while (gate.opened !== null) await gate.opened;
      gate.enter();
      try {
        const isFew = this.#hasAll || (concurrency - this.#running.size) * 2 < concurrency;
        const early = isFew ? claimedAt + gatherMs - performance.now() : 0;
        if (early > 0) await delay(early);
        if (this.#draining.aborted) return;
        // After a pause or a block the leases of this process may be over.
        if ([...this.#running.values()].some(({ term }) => !term.held)) await this.#heartbeat.beat();
        const free = concurrency - this.#running.size;
        // Everything that has woken the loop until now is seen by this claim.
        this.#wake.reset();
        claimedAt = performance.now();
        const term = new Term(leaseMs);
        const extended = term.extend();
        const items = free > 0 ? await this.source.claim(free, [...this.#running.keys()]) : [];
        extended();
        this.#hasAll = items.length < free;
        for (const item of await this.#stillHeld(items, term)) this.#start(item, term);
        failures = 0;
        if (free > 0 && items.length === free) continue;
        let due: number | null = items.length > 0 ? lookedAt + lookMs - performance.now() : 0;
        if (this.#running.size === concurrency) due = pollMs;
        else if (due <= 0) {
          lookedAt = performance.now();
          due = (await this.source.nextDue()) ?? pollMs;
        }
        // Work that is due became so after the claim, or another session has locked it, for a short time or a long one.
        missed = items.length > 0 || due > 0 ? 0 : missed + 1;
        pause = Math.min(pollMs, Math.max(missed > 0 ? 2 ** Math.min(missed - 1, 30) : due, 1));
      } catch (error) {
        this.logger.error(`claiming ${this.settings.name} failed and is tried again`, { error });
        pause = backoff(failures++, 100, 5000);
      } finally {
        gate.leave();
      }
      await this.#wake.wait(pause);
    }
  }

  /** A process that was paused during its claim may have lost what it claimed: it asks before it begins. */
  async #stillHeld(items: readonly Item[], term: Term): Promise<readonly Item[]> {
    if (items.length === 0 || term.held) return items;
    const extended = term.extend();
    const renewals = await this.source.renew(items);
    extended();
    return items.filter(({ id }) => renewals.has(id));
  }

  #start(item: Item, term: Term): void {
    const running: Running = {
      item,
      lost: new Flag(),
      cancelled: new Flag(),
      draining: this.#draining,
      term,
    };
    // Two claims of one item can overlap in a process that was paused: the older one is over.
    this.#running.get(item.id)?.lost.abort();
    this.#running.set(item.id, running);
    this.settings.gate.enter();
    const end: WorkEnd = (again, error) => {
      if (error !== undefined) this.logger.error(`${this.settings.name}: an item failed`, { id: item.id, error });
      this.settings.gate.leave();
      if (this.#running.get(item.id) === running) this.#running.delete(item.id);
      if (this.#running.size === 0) this.#whenIdle?.();
      // With nothing else due there is nothing to claim.
      if (again || !this.#hasAll) this.#wake.wake();
    };
    try {
      this.source.run(item, running, end);
    } catch (error) {
      end(true, error);
    }
  }

  async #renew(): Promise<void> {
    const all = [...this.#running.values()];
    if (all.length === 0) return;
    const term = new Term(this.settings.leaseMs);
    const extended = term.extend();
    try {
      const renewals = await this.source.renew(all.map(({ item }) => item));
      extended();
      for (const running of all) {
        const state = renewals.get(running.item.id);
        if (state === undefined) running.lost.abort();
        else running.term = term;
        if (state === "cancel") running.cancelled.abort();
      }
    } catch (error) {
      this.logger.warn(`leases of ${this.settings.name} were not renewed`, { error });
      for (const { term, lost } of all) if (!term.held) lost.abort();
    }
  }
}
