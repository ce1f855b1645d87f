/**
 * A map that forgets what was not asked for in a while. Two generations take turns: what is asked for moves to the young
 * one, and with each turn the old one is dropped as a whole. So what has not been used for a span goes first, and beyond
 * `maxKeys` what was used longest ago; no request ever pays for more than its own key.
 */
export class RecentMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #turnedAt = 0;
  readonly #half: number;
  readonly #span: number;

  constructor(maxKeys: number, span: number) {
    this.#half = Math.max(1, Math.floor(maxKeys / 2));
    this.#span = span;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** `now` is in the unit of the span, on a clock that never goes back. */
  get(key: string, now: number): V | undefined {
    if (now - this.#turnedAt >= this.#span) this.#turn(now);
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const old = this.#old.get(key);
    if (old !== undefined) {
      this.#old.delete(key);
      this.#add(key, old, now);
    }
    return old;
  }

  /** Adds a key that `get` has just not found. */
  add(key: string, value: V, now: number): void {
    this.#add(ownCopy(key), value, now);
  }

  #add(key: string, value: V, now: number): void {
    if (this.#young.size >= this.#half) this.#turn(now);
    this.#young.set(key, value);
  }

  #turn(now: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnedAt = now;
  }
}

/** A key cut out of a header would keep the whole head of its request alive. */
function ownCopy(key: string): string {
  return key.length < 13 ? key : Buffer.from(key, "utf16le").toString("utf16le");
}
