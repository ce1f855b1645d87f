import { backoff } from "../../../kit/time/backoff.js";
import { OperationalError } from "../errors.js";

/** Knows if a database is down, and when to try again to reach it. */
export class Outage {
  #down: { readonly since: number; error: Error } | null = null;
  #failures = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `retry` makes one more attempt. */
  constructor(private readonly retry: () => void) {}

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
    this.#failures++;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = null;
        this.retry();
      },
      backoff(this.#failures, 50, 1000),
    );
  }

  /** Ends it: an attempt has succeeded, or no more are to be made. */
  end(): void {
    this.#down = null;
    this.#failures = 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
