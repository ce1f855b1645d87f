import type { GroupOffset } from "../partition.js";
import { isRebalance } from "../translate-error.js";

interface CommitsParts {
  /** Offsets that have changed since the last call, by partition. `all`: those too that could wait a little. */
  take(all: boolean): Map<number, GroupOffset>;
  /** These offsets could not be committed: they are due again. */
  restore(offsets: ReadonlyMap<number, GroupOffset>): void;
  commit(offsets: ReadonlyMap<number, GroupOffset>): Promise<void>;
  /** The group takes commits again. */
  accepted(): void;
  failed(error: unknown): void;
}

/** Milliseconds between two requests: under load, one after the other would each move the offset by a few messages only. */
const pause = 5;

/**
 * Commits the offsets of a group, one request at a time: what is done during one, and in a short pause after it, goes with the
 * next one.
 */
export class Commits {
  /** True while the group takes no commits, since it is being shared, and some are due. */
  isRefused = false;
  #running = false;
  /** Ends the pause. */
  #hurry: (() => void) | null = null;
  /** Those that wait for the next request. */
  #flushes: ((ok: boolean) => void)[] = [];

  constructor(private readonly parts: CommitsParts) {}

  soon(): void {
    if (!this.#running) void this.#run();
  }

  /** Resolves when all that is due now is committed; to false if the group did not take it. */
  flush(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#flushes.push(resolve);
      this.#hurry?.();
      this.soon();
    });
  }

  async #run(): Promise<void> {
    const { take, restore, commit, accepted, failed } = this.parts;
    this.#running = true;
    for (let first = true; this.#running; first = false) {
      // Others can join.
      await this.#wait(first ? 0 : pause);
      const flushes = this.#flushes;
      this.#flushes = [];
      const offsets = take(flushes.length > 0);
      this.#running = offsets.size > 0;
      let ok = true;
      try {
        if (offsets.size > 0) await commit(offsets);
        // Also if nothing is left to commit, since the partitions now belong to others.
        if (this.isRefused) {
          this.isRefused = false;
          accepted();
        }
      } catch (error) {
        ok = false;
        this.isRefused = isRebalance(error);
        // Those of partitions that stay ours are committed after the next join.
        if (this.isRefused) restore(offsets);
        else failed(error);
        this.#running = this.#flushes.length > 0;
      }
      for (const resolve of flushes) resolve(ok);
    }
  }

  /** Waits so long, or for one turn of the event loop if a caller waits for the commits. */
  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      if (milliseconds === 0 || this.#flushes.length > 0) {
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
