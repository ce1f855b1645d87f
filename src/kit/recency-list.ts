/** An item of a `RecencyList`: a link to each neighbour. */
export interface Linked<Item> {
  newer: Item | null;
  older: Item | null;
}

/**
 * Items in the order of their last use. Each call takes constant time. A Set that is emptied at its front does not: the
 * next iteration passes every deleted entry.
 */
export class RecencyList<Item extends Linked<Item>> {
  #newest: Item | null = null;
  #oldest: Item | null = null;

  get oldest(): Item | null {
    return this.#oldest;
  }

  /** Adds an item that is in no list, as the newest. */
  add(item: Item): void {
    item.older = this.#newest;
    if (this.#newest === null) this.#oldest = item;
    else this.#newest.newer = item;
    this.#newest = item;
  }

  remove(item: Item): void {
    if (item.newer === null) this.#newest = item.older;
    else item.newer.older = item.older;
    if (item.older === null) this.#oldest = item.newer;
    else item.older.newer = item.newer;
    item.newer = null;
    item.older = null;
  }

  /** Makes an item the newest. */
  touch(item: Item): void {
    if (item === this.#newest) return;
    this.remove(item);
    this.add(item);
  }
}
