import { overloaded } from "../errors/paced.js";
import type { Request } from "../http/request.js";

/** The number of verifications that wait for each one that may run. */
const waitingPerPlace = 50;

/** Milliseconds after which a verification gives its place back even if it has not ended: it waits for what is lost. */
const patience = 60_000;

/**
 * Bounds the verifications of passwords that run at once: each takes CPU time and memory by intention, and any client can
 * ask for as many as it likes. Others wait; beyond that, requests are refused with 503.
 */
export class Verifications {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(private readonly limit: number) {}

  /** Runs a function when there is a place. The result of one that needs no time is returned at once. */
  run<T>(request: Request, verify: () => T | PromiseLike<T>): T | Promise<T> {
    if (this.#running < this.limit) return this.#begin(verify);
    if (this.#waiting.length >= this.limit * waitingPerPlace) throw overloaded();
    return new Promise<void>((resolve) => this.#waiting.push(resolve)).then(() => {
      // A client that has left must not take the time of those that wait.
      if (request.aborted) {
        this.#end();
        throw request.signal.reason;
      }
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
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#end();
    };
    const timer = setTimeout(end, patience).unref();
    return Promise.resolve(result).finally(end);
  }

  /** The next verification keeps the place, so that no other takes it in between. */
  #end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
