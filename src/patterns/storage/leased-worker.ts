import type { Logger } from "../../internal/logger.js";
import { backoff, Wake } from "./wake.js";

/** Work that one process at a time may do. Each claim has a higher token than the one before. */
export interface Leased {
  readonly id: string;
  readonly token: number;
}

/** The state of a claim at a renewal. A claim that is absent was lost. */
export type Renewals = ReadonlyMap<string, "held" | "cancel">;

/** The work itself. All times are those of the database's clock. */
export interface WorkSource<Item extends Leased> {
  /** Claims up to `limit` items that are due. */
  claim(limit: number): Promise<readonly Item[]>;
  renew(items: readonly Leased[]): Promise<Renewals>;
  /** Milliseconds until the next item is due; null if there is none. */
  nextDue(): Promise<number | null>;
  /** Does the work. It must check its token with every write. Its failure is logged and the lease left to end. */
  run(item: Item, signals: WorkSignals): Promise<void>;
}

export interface WorkSignals {
  /** Aborted when the claim was lost: stop, and write nothing. */
  readonly lost: AbortSignal;
  /** Aborted when somebody has asked for the end of this work. */
  readonly cancelled: AbortSignal;
  /** Aborted when the process ends: finish the present step. */
  readonly draining: AbortSignal;
}

export interface WorkerSettings {
  readonly name: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
}

interface Running {
  readonly item: Leased;
  readonly lost: AbortController;
  readonly cancelled: AbortController;
  /** By the clock of this process, which only moves forward. */
  heldUntil: number;
  done: Promise<void>;
}

/** Claims work as long as there is room, renews the leases, and drains at the end. */
export class LeasedWorker<Item extends Leased> {
  readonly #running = new Map<string, Running>();
  readonly #wake = new Wake();
  readonly #draining = new AbortController();
  readonly #loop: Promise<void>;
  readonly #heartbeat: NodeJS.Timeout;
  #renewing: Promise<void> | null = null;

  constructor(
    readonly settings: WorkerSettings,
    readonly source: WorkSource<Item>,
    readonly logger: Logger,
  ) {
    this.#heartbeat = setInterval(() => {
      this.#renewing ??= this.#renew().finally(() => (this.#renewing = null));
    }, settings.leaseMs / 3);
    this.#loop = this.#run();
  }

  readonly wake = (): void => this.#wake.wake();

  /** Takes no more work, and waits for the work in progress up to a limit. Later its leases end by themselves. */
  async drain(graceMs: number): Promise<void> {
    this.#draining.abort();
    this.#wake.wake();
    await this.#loop;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(true), graceMs);
    });
    const all = Promise.all([...this.#running.values()].map(({ done }) => done)).then(() => false);
    if (await Promise.race([all, late])) {
      this.logger.warn(`${this.settings.name} did not end within ${graceMs} ms; others go on with them`);
      for (const { lost } of this.#running.values()) lost.abort();
    }
    clearTimeout(timer);
    clearInterval(this.#heartbeat);
    await this.#renewing;
  }

  async #run(): Promise<void> {
    const { concurrency, pollMs } = this.settings;
    for (let failures = 0; !this.#draining.signal.aborted; ) {
      try {
        const free = concurrency - this.#running.size;
        const before = performance.now();
        const items = free > 0 ? await this.source.claim(free) : [];
        for (const item of items) this.#start(item, before);
        failures = 0;
        if (free > 0 && items.length === free) continue;
        const due = this.#running.size < concurrency ? await this.source.nextDue() : null;
        await this.#wake.wait(Math.min(pollMs, Math.max(due ?? pollMs, 1)));
      } catch (error) {
        this.logger.error(`claiming ${this.settings.name} failed and is tried again`, { error });
        await this.#wake.wait(backoff(failures++, 100, 5000));
      }
    }
  }

  #start(item: Item, claimedAt: number): void {
    const lost = new AbortController();
    const cancelled = new AbortController();
    const signals = { lost: lost.signal, cancelled: cancelled.signal, draining: this.#draining.signal };
    const heldUntil = claimedAt + this.settings.leaseMs;
    const running: Running = { item, lost, cancelled, heldUntil, done: Promise.resolve() };
    // Two claims of one item can overlap in a process that was paused: the older one is over.
    this.#running.get(item.id)?.lost.abort();
    this.#running.set(item.id, running);
    running.done = this.source
      .run(item, signals)
      .catch((error: unknown) => this.logger.error(`${this.settings.name}: an item failed`, { id: item.id, error }))
      .finally(() => {
        if (this.#running.get(item.id) === running) this.#running.delete(item.id);
        this.#wake.wake();
      });
  }

  async #renew(): Promise<void> {
    const all = [...this.#running.values()];
    if (all.length === 0) return;
    const before = performance.now();
    try {
      const renewals = await this.source.renew(all.map(({ item }) => item));
      for (const running of all) {
        const state = renewals.get(running.item.id);
        if (state === undefined) running.lost.abort();
        else running.heldUntil = before + this.settings.leaseMs;
        if (state === "cancel") running.cancelled.abort();
      }
    } catch (error) {
      this.logger.warn(`leases of ${this.settings.name} were not renewed`, { error });
      for (const { heldUntil, lost } of all) if (heldUntil < performance.now()) lost.abort();
    }
  }
}
