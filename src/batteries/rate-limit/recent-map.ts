import { ownCopy } from "../../kit/own-copy.js";

/**
 * A map of the keys that were used recently. Two generations take turns: a key that is used moves to the young one, and
 * with each turn the old one is dropped as a whole. So keys that have not been used for a span go first, and beyond
 * `maxKeys` those used longest ago. No request pays for more than its own key.
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
