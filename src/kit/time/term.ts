/**
 * The end of a lease by two clocks. The first only moves forward, but stands still while the machine sleeps; the second continues
 * then, but can be set. A lease that is over by one of them is over.
 */
export class Term {
  #clock = Number.NEGATIVE_INFINITY;
  #time = Number.NEGATIVE_INFINITY;

  constructor(readonly leaseMs: number) {}

  /** True while no other process can have the lease. */
  get held(): boolean {
    return this.left > 0;
  }

  get left(): number {
    return Math.min(this.#clock - performance.now(), this.#time - Date.now());
  }

  /**
   * Begins an extension: the returned function is called when the store has confirmed it. The new end counts from here,
   * before the request was sent, so it is never later than the end that the store knows.
   */
  extend(): () => void {
    const [clock, time] = [performance.now() + this.leaseMs, Date.now() + this.leaseMs];
    return () => {
      this.#clock = clock;
      this.#time = time;
    };
  }
}
