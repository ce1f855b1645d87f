/** The messages that a peer may send: `rate` per second, `burst` at once. Only the time at which all are available is kept. */
export class MessageRate {
  readonly #interval: number;
  readonly #burstMs: number;
  #fullAt = 0;

  constructor(rate: number, burst: number) {
    this.#interval = 1000 / rate;
    this.#burstMs = this.#interval * burst;
  }

  /** False for a message that is one too many, at a time in milliseconds. */
  take(now: number): boolean {
    const fullAt = Math.max(this.#fullAt, now) + this.#interval;
    // Sums of fractions of milliseconds are not exact; a thousandth of a message does not matter.
    if (fullAt - now > this.#burstMs + this.#interval * 0.001) return false;
    this.#fullAt = fullAt;
    return true;
  }
}
