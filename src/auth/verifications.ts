import { httpError } from "../errors/http-error.js";

/** The number of verifications that wait for each one that may run. */
const waitingPerPlace = 50;

/**
 * Bounds the verifications of passwords that run at once: each takes CPU time and memory by intention, and any client can
 * ask for as many as it likes. Others wait; beyond that, requests are refused with 503.
 */
export class Verifications {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a function when there is a place. The result of one that needs no time is returned at once. */
  run<T>(verify: () => T | PromiseLike<T>): T | Promise<T> {
    if (this.#running < this.#limit) return this.#begin(verify);
    if (this.#waiting.length >= this.#limit * waitingPerPlace) {
      throw httpError("SERVICE_UNAVAILABLE", undefined, { headers: { "Retry-After": "1" } });
    }
    return new Promise<void>((resolve) => this.#waiting.push(resolve)).then(() => {
      this.#running--;
      return this.#begin(verify);
    });
  }

  #begin<T>(verify: () => T | PromiseLike<T>): T | Promise<T> {
    this.#running++;
    let result: T | PromiseLike<T>;
    try {
      result = verify();
    } catch (error) {
      this.#end();
      throw error;
    }
    if (typeof (result as PromiseLike<T> | null)?.then !== "function") {
      this.#end();
      return result as T;
    }
    return Promise.resolve(result).finally(() => this.#end());
  }

  /** The next one keeps the place, so that nobody takes it meanwhile. */
  #end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
