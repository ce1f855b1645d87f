/** Milliseconds between two lines in the log. */
const interval = 10_000;

/** Paces log lines about what clients do: at most one in ten seconds, whatever they send. */
export class Pace {
  #lastAt = Number.NEGATIVE_INFINITY;
  #left = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The fields of a line that may be written: the number of those left out before it. Null for one that is left out. */
  next(): { readonly not_logged?: number } | null {
    const now = this.now();
    if (now - this.#lastAt < interval) {
      this.#left++;
      return null;
    }
    const fields = this.#left > 0 ? { not_logged: this.#left } : {};
    this.#lastAt = now;
    this.#left = 0;
    return fields;
  }
}
