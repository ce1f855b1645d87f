import type { Logger } from "../../kit/logger.js";

const complaintEvery = 10_000;

/** Calls of a store that may fail: handlers then run for each request, and the log says so every ten seconds at most. */
export class StoreCalls {
  readonly #logger: Logger;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

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

  complain(error: unknown): void {
    const now = performance.now();
    if (now - this.#complainedAt < complaintEvery) return;
    this.#complainedAt = now;
    this.#logger.error("the store of the response cache failed: handlers run for each request", { error });
  }
}
