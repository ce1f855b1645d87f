/** A call that may take so long and no longer. */
export interface Deadline {
  /** The time on the monotonic clock. */
  readonly at: number;
  readonly late: () => void;
}

/** Watches calls that all may take the same time, with one timer: a timer for each message would cost more than the rest of its way. */
export class Deadlines {
  readonly #timeout: number;
  /** In the order in which they end. */
  readonly #calls = new Set<Deadline>();
  #timer: NodeJS.Timeout | null = null;

  /** @param timeout in milliseconds; 0 for no limit */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  get timeout(): number {
    return this.#timeout;
  }

  /** Calls `late` when the time is up, unless the deadline is removed before. */
  add(late: () => void): Deadline {
    const deadline = { at: performance.now() + this.#timeout, late };
    this.#calls.add(deadline);
    if (this.#timer === null) this.#watch(this.#timeout);
    else if (this.#calls.size === 1) this.#timer.ref();
    return deadline;
  }

  remove(deadline: Deadline): void {
    // Nobody waits for the timer any more: it must not keep the process alive.
    if (this.#calls.delete(deadline) && this.#calls.size === 0) this.#timer?.unref();
  }

  #watch(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#check(), Math.max(1, Math.ceil(milliseconds)));
  }

  #check(): void {
    this.#timer = null;
    const now = performance.now();
    for (const deadline of this.#calls) {
      if (deadline.at > now) {
        this.#watch(deadline.at - now);
        return;
      }
      this.#calls.delete(deadline);
      deadline.late();
    }
  }
}
