import { perProcess } from "../../pipeline/shared-stores.js";

/** Keeps the ids of tokens that must not be accepted any more. A key-value store shares them between processes. */
export interface RevocationStore {
  has(id: string): boolean | Promise<boolean>;
  /** Keeps an id until a time in seconds since 1970; false if the id was already revoked. */
  add(id: string, until: number): boolean | Promise<boolean>;
}

/** Revoked tokens of this process, each until it expires by itself. */
export class MemoryRevocations implements RevocationStore {
  /** @internal */
  readonly [perProcess] = true;
  readonly #until = new Map<string, number>();
  readonly #limit: number;
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

  add(id: string, until: number): boolean {
    if (this.#until.has(id)) return false;
    if (this.#until.size >= Math.min(this.#sweepAt, this.#limit)) this.#sweep();
    // Removing one of them would accept a revoked token.
    if (this.#until.size >= this.#limit) throw new Error(`more than ${this.#limit} tokens are revoked at once`);
    this.#until.set(id, until);
    return true;
  }

  /** @internal All ids, each with its end. */
  list(): [id: string, until: number][] {
    return [...this.#until];
  }

  #sweep(): void {
    const now = Date.now() / 1000;
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
    this.#sweepAt = Math.max(1024, this.#until.size * 2);
  }
}
