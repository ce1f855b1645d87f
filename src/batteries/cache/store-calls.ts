import { unavailable } from "../../errors/paced.js";
import type { Logger } from "../../kit/logger.js";
import { boundedText } from "./bounded-text.js";
import type { CacheStore } from "./store.js";

const complaintEvery = 10_000;

/** Calls of a store that may fail: responses and values are then made for each request, and the log says so every ten seconds at most. */
export class StoreCalls {
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly logger: Logger) {}

  /** The result of a call; `otherwise` if it fails. */
  try<T>(call: () => T | Promise<T>, otherwise: T): T | Promise<T> {
    const failed = (error: unknown): T => {
      this.complain(error);
      return otherwise;
    };
    try {
      const result = call();
      return result instanceof Promise ? result.catch(failed) : result;
    } catch (error) {
      return failed(error);
    }
  }

  /** Drops everything with one of the tags. */
  invalidate(store: CacheStore, tags: readonly string[]): number | Promise<number> {
    const done = store.invalidate(tags.map(boundedText));
    if (!(done instanceof Promise)) return done;
    const noted = done.catch((error: unknown) => {
      this.complain(error);
      throw unavailable(error);
    });
    // A caller that does not await the promise must not end the process by an unhandled rejection.
    noted.catch(() => {});
    return noted;
  }

  complain(error: unknown): void {
    const now = performance.now();
    if (now - this.#complainedAt < complaintEvery) return;
    this.#complainedAt = now;
    this.logger.error("the store of the cache failed: handlers run for each request", { error });
  }
}
