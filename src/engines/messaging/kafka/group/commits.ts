import type { GroupOffset } from "../partition.js";
import { isRebalance } from "../translate-error.js";

interface CommitsParts {
  /** Resolves when it is known which partitions are ours; null if it is. */
  settled(): Promise<void> | null;
  /** Offsets that have changed since the last call, by partition. `all`: those too that could wait a little. */
  take(all: boolean): Map<number, GroupOffset>;
  /** These offsets could not be committed: they are due again. */
  restore(offsets: ReadonlyMap<number, GroupOffset>): void;
  commit(offsets: ReadonlyMap<number, GroupOffset>): Promise<void>;
  failed(error: unknown): void;
}

/** Milliseconds between two requests: under load, one after the other would each move the offset by a few messages only. */
const pause = 5;

/**
 * Commits the offsets of a group, one request at a time: what is done meanwhile, and in a short pause after it, goes with the
 * next one.
 */
export class Commits {
  readonly #parts: CommitsParts;
  #running: Promise<boolean> | null = null;
  /** Ends the pause. */
  #hurry: (() => void) | null = null;
  #flushes = 0;

  constructor(parts: CommitsParts) {
    this.#parts = parts;
  }

  soon(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when nothing is left to commit; to false if the group did not take it. */
  async flush(): Promise<boolean> {
    this.#flushes++;
    this.#hurry?.();
    this.soon();
    let ok = true;
    while (this.#running !== null) ok = await this.#running;
    this.#flushes--;
    return ok;
  }

  async #run(): Promise<boolean> {
    const { settled, take, restore, commit, failed } = this.#parts;
    for (let first = true; ; first = false) {
      // Others can join. Offsets of partitions that are ours no longer must not be committed.
      await this.#wait(first ? 0 : pause);
      await settled();
      const offsets = take(this.#flushes > 0);
      if (offsets.size === 0) return true;
      try {
        await commit(offsets);
      } catch (error) {
        // Those of partitions that stay ours are committed after the next join.
        if (isRebalance(error)) restore(offsets);
        else failed(error);
        return false;
      }
    }
  }
  /** Waits so long, or for one turn of the event loop if somebody waits for the commits. */
  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      if (milliseconds === 0 || this.#flushes > 0) {
        setImmediate(resolve);
        return;
      }
      const timer = setTimeout(resolve, milliseconds);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
