import type { EndingListener, EndingSource } from "../../pipeline/open-authorities.js";
import { perProcess } from "../../pipeline/shared-stores.js";

/** Keeps the ids of tokens that must not be accepted any more. A key-value store shares them between processes. */
export interface RevocationStore extends EndingSource {
  /**
   * True if the id was revoked. `issuedAt`, in seconds since 1970, is given for ids of tokens: a store that may have lost
   * what was revoked before some time returns true for tokens of before.
   */
  has(id: string, issuedAt?: number): boolean | Promise<boolean>;
  /**
   * Keeps an id until a time in seconds since 1970; false if the id was already revoked. `ends` is reported to those that
   * watch, in all processes: what is open with it ends. It is not given for a token that is refreshed.
   */
  add(id: string, until: number, ends?: string): boolean | Promise<boolean>;
}

/** Revoked tokens of this process, each until it expires by itself. */
export class MemoryRevocations implements RevocationStore {
  /** @internal */
  readonly [perProcess] = true;
  readonly #until = new Map<string, number>();
  readonly #limit: number;
  readonly #listeners: EndingListener[] = [];
  /** The size at which expired ids are removed. */
  #sweepAt = 1024;

  constructor(limit = 100_000) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#until.size;
  }

  has(id: string): boolean {
    return this.#until.size > 0 && this.#until.has(id);
  }

  watch(listener: EndingListener): void {
    this.#listeners.push(listener);
  }

  add(id: string, until: number, ends?: string): boolean {
    const isNew = this.#add(id, until);
    if (ends !== undefined) for (const listener of this.#listeners) listener.ended(ends);
    return isNew;
  }

  /** @internal All ids, each with its end. */
  list(): [id: string, until: number][] {
    return [...this.#until];
  }

  #add(id: string, until: number): boolean {
    if (this.#until.has(id)) return false;
    if (this.#until.size >= Math.min(this.#sweepAt, this.#limit)) this.#sweep();
    // Removing one of them would accept a revoked token.
    if (this.#until.size >= this.#limit) throw new Error(`more than ${this.#limit} tokens are revoked at once`);
    this.#until.set(id, until);
    return true;
  }

  #sweep(): void {
    const now = Date.now() / 1000;
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
    this.#sweepAt = Math.max(1024, this.#until.size * 2);
  }
}
