/** Messages of a consumer that may wait, and their bytes. */
const most = 2000;
export const mostParkedBytes = 16 * 1024 * 1024;

interface ParkedParts<Item> {
  keyOf(item: Item): string | null;
  bytesOf(item: Item): number;
  /** All items of the consumer without a result. */
  open(): Iterable<Item>;
  /** Called when an item begins to wait (1), and when it waits no more (-1). */
  counted?(item: Item, by: 1 | -1): void;
  /** True if the consumer has its own limits, and reads no further messages then. */
  readonly hasOwnLimits?: boolean;
}

/**
 * The messages of a consumer that wait for their next attempt, and those of their keys behind them. They take up no room of the
 * prefetch until the one in front has its result: others continue.
 */
export class Parked<Item extends object> {
  readonly #items = new Set<Item>();
  /** The messages in front, by key. */
  readonly #waiting = new Map<string, Item>();
  #bytes = 0;

  constructor(private readonly parts: ParkedParts<Item>) {}

  /** False if enough of them wait: a further one takes up room. */
  get hasRoom(): boolean {
    return this.parts.hasOwnLimits || (this.#items.size < most && this.#bytes < mostParkedBytes);
  }

  get size(): number {
    return this.#items.size;
  }

  /** An item has come. */
  add(item: Item): void {
    if (this.#waiting.size === 0) return;
    const key = this.parts.keyOf(item);
    if (key !== null && this.#waiting.has(key)) this.#park(item);
  }

  /** The item waits for its next attempt. */
  wait(item: Item): void {
    this.#park(item);
    const key = this.parts.keyOf(item);
    if (key === null || this.#waiting.get(key) === item) return;
    this.#waiting.set(key, item);
    for (const other of this.#ofKey(key)) this.#park(other);
  }

  /** The item has its result, or is lost. */
  settled(item: Item): void {
    if (this.#items.size === 0 && this.#waiting.size === 0) return;
    this.#unpark(item);
    const key = this.parts.keyOf(item);
    if (key === null || this.#waiting.get(key) !== item) return;
    this.#waiting.delete(key);
    for (const other of this.#ofKey(key)) this.#unpark(other);
  }

  clear(): void {
    this.#items.clear();
    this.#waiting.clear();
    this.#bytes = 0;
  }

  *#ofKey(key: string): Generator<Item> {
    for (const item of this.parts.open()) if (this.parts.keyOf(item) === key) yield item;
  }

  #park(item: Item): void {
    if (this.#items.has(item) || !this.hasRoom) return;
    this.#items.add(item);
    this.#bytes += this.parts.bytesOf(item);
    this.parts.counted?.(item, 1);
  }

  #unpark(item: Item): void {
    if (!this.#items.delete(item)) return;
    this.#bytes -= this.parts.bytesOf(item);
    this.parts.counted?.(item, -1);
  }
}
