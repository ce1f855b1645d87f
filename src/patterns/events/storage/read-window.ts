const smallest = 1000;
const largest = 10_000_000;
/** Milliseconds of a read below which the next window is larger, and above which it is smaller. */
const short = 100;
const long = 1000;

/**
 * The number of positions that one read of a subscription looks at. Events of a rare type can be millions of positions apart: a
 * read up to the newest event would take longer than a statement may. The checkpoint moves with each window, also with one that
 * has no events, so a subscription that begins gets on whatever the distance.
 */
export class ReadWindow {
  #size = 10_000;

  get size(): number {
    return this.#size;
  }

  async read<T>(run: () => Promise<T>): Promise<T> {
    const begin = performance.now();
    let isRead = false;
    try {
      const result = await run();
      isRead = true;
      return result;
    } finally {
      const took = performance.now() - begin;
      if (took > long) this.#size = Math.max(Math.floor(this.#size / 4), smallest);
      // A database that is away refuses fast.
      else if (isRead && took < short) this.#size = Math.min(this.#size * 2, largest);
    }
  }
}
