/** Counts events that cost a client less than the server. A tenth of the limit is given back each second. */
export class Budget {
  readonly #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** False if nothing is left. */
  spend(): boolean {
    this.#left--;
    return this.#left >= 0;
  }

  /** Called at every tick, with the seconds since the last one. */
  refill(seconds: number): void {
    this.#left = Math.min(this.#max, this.#left + (this.#max * seconds) / 10);
  }
}
