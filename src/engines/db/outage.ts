import { OperationalError } from "./errors.js";

/** Milliseconds between attempts to reach a database that is down. */
const shortestBackoff = 50;
const longestBackoff = 1000;

/** Knows if a database is down, and when to try again to reach it. */
export class Outage {
  readonly #retry: () => void;
  #down: { readonly since: number; error: Error } | null = null;
  #backoff = shortestBackoff;
  #timer: NodeJS.Timeout | null = null;

  /** `retry` makes one more attempt. */
  constructor(retry: () => void) {
    this.#retry = retry;
  }

  /** True from the first attempt that fails until one succeeds. */
  get lasts(): boolean {
    return this.#down !== null;
  }

  /** The error of calls that cannot be served, if the database has been down for so many milliseconds; otherwise null. */
  errorAfter(time: number): OperationalError | null {
    if (this.#down === null || performance.now() - this.#down.since < time) return null;
    const { error } = this.#down;
    return new OperationalError(error.message, { sqlstate: "08001", cause: error });
  }

  /** An attempt has failed. */
  failed(error: Error): void {
    this.#down ??= { since: performance.now(), error };
    this.#down.error = error;
    this.#backoff = Math.min(this.#backoff * 2, longestBackoff);
    this.#timer ??= setTimeout(
      () => {
        this.#timer = null;
        this.#retry();
      },
      this.#backoff * (0.5 + Math.random() / 2),
    );
  }

  /** Ends it: an attempt has succeeded, or no more are to be made. */
  end(): void {
    this.#down = null;
    this.#backoff = shortestBackoff;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
