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
   * watch, in all processes: what is open with it ends. It is not given for a token that is refreshed. With `issuedUpTo` the
   * id is revoked for tokens that were issued up to that time; a later call moves the time.
   */
  add(id: string, until: number, ends?: string, issuedUpTo?: number): boolean | Promise<boolean>;
}

/** The default of `issuedUpTo`. Not Infinity, which messages between processes cannot hold. */
export const allTokens: number = Number.MAX_SAFE_INTEGER;

interface Revoked {
  readonly until: number;
  readonly issuedUpTo: number;
}

/** Revoked tokens of this process, each until it expires by itself. */
export class MemoryRevocations implements RevocationStore {
  /** @internal */
  readonly [perProcess] = true;
  readonly #revoked = new Map<string, Revoked>();
  readonly #limit: number;
  readonly #listeners: EndingListener[] = [];
  /** The size at which expired ids are removed. */
  #sweepAt = 1024;

  constructor(limit = 100_000) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#revoked.size;
  }

  has(id: string, issuedAt = 0): boolean {
    const revoked = this.#revoked.size > 0 ? this.#revoked.get(id) : undefined;
    return revoked !== undefined && issuedAt <= revoked.issuedUpTo;
  }

  watch(listener: EndingListener): void {
    this.#listeners.push(listener);
  }

  add(id: string, until: number, ends?: string, issuedUpTo: number = allTokens): boolean {
    const isNew = this.#add(id, until, issuedUpTo);
    if (ends !== undefined) for (const listener of this.#listeners) listener.ended(ends);
    return isNew;
  }

  /** @internal All ids, each with its end and the time up to which tokens are revoked. */
  list(): [id: string, until: number, issuedUpTo: number][] {
    return [...this.#revoked].map(([id, { until, issuedUpTo }]) => [id, until, issuedUpTo]);
  }

  #add(id: string, until: number, issuedUpTo: number): boolean {
    const known = this.#revoked.get(id);
    if (known !== undefined && known.issuedUpTo >= issuedUpTo) return false;
    if (known === undefined) this.#makeRoom();
    this.#revoked.set(id, { until, issuedUpTo });
    return true;
  }

  #makeRoom(): void {
    if (this.#revoked.size >= Math.min(this.#sweepAt, this.#limit)) this.#sweep();
    // Removing one of them would accept a revoked token.
    if (this.#revoked.size >= this.#limit) throw new Error(`more than ${this.#limit} tokens are revoked at once`);
  }

  #sweep(): void {
    const now = Date.now() / 1000;
    for (const [id, { until }] of this.#revoked) if (until <= now) this.#revoked.delete(id);
    this.#sweepAt = Math.max(1024, this.#revoked.size * 2);
  }
}
