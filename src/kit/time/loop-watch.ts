/** Measures how late the event loop is, because a function blocked it or the process was stopped. */
export class LoopWatch {
  readonly #interval: number;
  readonly #looked: (late: number) => void;
  readonly #timer: NodeJS.Timeout;
  #lookedAt = performance.now();

  /** Calls `looked` at each interval, with the milliseconds since the last time beyond the interval: below 0 after a `look()`. */
  constructor(interval: number, looked: (late: number) => void) {
    this.#interval = interval;
    this.#looked = looked;
    this.#timer = setInterval(() => this.look(), interval).unref();
  }

  look(): void {
    const now = performance.now();
    const late = now - this.#lookedAt - this.#interval;
    this.#lookedAt = now;
    this.#looked(late);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
