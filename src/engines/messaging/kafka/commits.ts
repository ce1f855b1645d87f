import { isRebalance } from "./translate-error.js";

interface CommitsParts {
  /** Resolves when it is known which partitions are ours; null if it is. */
  settled(): Promise<void> | null;
  /** Offsets that have moved since the last call, by partition. */
  take(): Map<number, bigint>;
  /** These offsets could not be committed: they are due again. */
  restore(offsets: ReadonlyMap<number, bigint>): void;
  commit(offsets: ReadonlyMap<number, bigint>): Promise<void>;
  failed(error: unknown): void;
}

/** Commits the offsets of a group, one request at a time: what is done meanwhile goes with the next one. */
export class Commits {
  readonly #parts: CommitsParts;
  #running: Promise<void> | null = null;

  constructor(parts: CommitsParts) {
    this.#parts = parts;
  }

  soon(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when nothing is left to commit. */
  async flush(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    const { settled, take, restore, commit, failed } = this.#parts;
    for (;;) {
      // One turn, in which others can join. Offsets of partitions that are ours no longer must not be committed.
      await new Promise((resolve) => setImmediate(resolve));
      await settled();
      const offsets = take();
      if (offsets.size === 0) return;
      try {
        await commit(offsets);
      } catch (error) {
        // Those of partitions that stay ours are committed after the next join.
        if (isRebalance(error)) restore(offsets);
        else failed(error);
        return;
      }
    }
  }
}
