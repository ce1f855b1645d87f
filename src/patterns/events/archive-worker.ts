import type { Logger } from "../../internal/logger.js";
import { Wake } from "../storage/wake.js";
import type { EventStorage } from "./storage.js";

/** The name of the claim by which one worker of all applies the policies. */
const claimName = "archive:policies";
const longestSweep = 600_000;

/** Applies the policies of the archive at intervals, in one worker of all. */
export class ArchiveWorker {
  readonly #wake = new Wake();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    readonly storage: EventStorage,
    readonly owner: string,
    readonly intervalMs: number,
    readonly logger: Logger,
    readonly apply: (signal: AbortSignal) => Promise<number>,
  ) {
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#sweep();
      } catch (error) {
        this.logger.error("streams were not archived; it is tried again", { error });
      }
      if (!this.#stop.signal.aborted) await this.#wake.wait(this.intervalMs);
    }
  }

  async #sweep(): Promise<void> {
    const claim = await this.storage.claim(claimName, this.owner, longestSweep, 0);
    if (claim === null) return;
    try {
      const count = await this.apply(this.#stop.signal);
      if (count > 0) this.logger.info("streams were archived", { count });
    } finally {
      await this.storage.release(claimName, claim.token);
    }
  }
}
