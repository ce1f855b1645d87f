import { Lease } from "../../durable/lease.js";
import { Wake } from "../../durable/wake.js";
import type { Logger } from "../../kit/logger.js";
import type { EventStorage } from "./storage/storage.js";

/** The name of the claim by which only one of the workers applies the policies. */
const claimName = "archive:policies";

/** Applies the policies of the archive at intervals, in only one of the workers. */
export class ArchiveWorker {
  readonly #wake = new Wake();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    readonly storage: EventStorage,
    readonly owner: string,
    readonly leaseMs: number,
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
    const { storage, owner, leaseMs } = this;
    const source = {
      name: "the archive",
      claim: () => storage.claim(claimName, owner, leaseMs, 0),
      renew: (token: number) => storage.renew(claimName, token, leaseMs),
      release: (token: number) => storage.release(claimName, token),
    };
    const lease = await Lease.claim(source, leaseMs, this.logger);
    if (lease === null) return;
    try {
      const count = await this.apply(AbortSignal.any([lease.lost, this.#stop.signal]));
      if (count > 0) this.logger.info("streams were archived", { count });
    } finally {
      await lease.release();
    }
  }
}
