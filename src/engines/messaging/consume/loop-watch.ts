/** Milliseconds between two looks, and the shortest block that counts. */
const lookEvery = 1000;
/** Milliseconds after a block in which a connection is lost because of it. */
const after = 5000;

/** Notices that the event loop did not run, because a function blocked it or the process was stopped. */
export class LoopWatch {
  #lookedAt = performance.now();
  #block = { length: 0, end: 0 };
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#lookedAt = performance.now();
    this.#timer ??= setInterval(() => this.#look(), lookEvery).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Milliseconds of a block that has just ended; 0 if there was none, or it was taken already. */
  take(): number {
    this.#look();
    const { length, end } = this.#block;
    this.#block = { length: 0, end: 0 };
    return performance.now() - end < after ? length : 0;
  }

  #look(): void {
    const now = performance.now();
    const length = now - this.#lookedAt;
    if (this.#timer !== undefined && length > lookEvery * 2) this.#block = { length, end: now };
    this.#lookedAt = now;
  }
}
