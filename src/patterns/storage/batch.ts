/** Items of one statement. */
const mostItems = 200;

interface Entry<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Writes items together: those that come in one turn of the event loop, or while a statement is under way, share the next
 * statement. An item alone is written at once.
 */
export class Batch<Item, Result> {
  readonly #flush: (items: readonly Item[]) => Promise<readonly Result[]>;
  #entries: Entry<Item, Result>[] = [];
  #scheduled = false;

  /** `flush` returns the results in the order of the items. */
  constructor(flush: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#flush = flush;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ item, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#entries.length > 0) {
      const entries = this.#entries.splice(0, mostItems);
      try {
        const results = await this.#flush(entries.map(({ item }) => item));
        entries.forEach(({ resolve }, index) => {
          resolve(results[index]!);
        });
      } catch (error) {
        for (const { reject } of entries) reject(error);
      }
    }
    this.#scheduled = false;
  }
}
