import { ValueError } from "../../internal/value-error.js";
import { perProcess } from "../../pipeline/shared-stores.js";
import type { SessionStore, StoredSession } from "./store.js";

interface Entry {
  readonly json: string;
  readonly expires: number;
}

/**
 * Sessions in the memory of one process: for development and tests. They end with the process, other workers do not know
 * them, and when there are too many the ones written longest ago go.
 */
export class MemorySessionStore implements SessionStore {
  /** @internal */
  readonly [perProcess] = true;
  readonly #entries = new Map<string, Entry>();
  readonly #limit: number;

  constructor(limit = 10_000) {
    if (!Number.isInteger(limit) || limit < 1)
      throw new ValueError("MemorySessionStore takes how many sessions it holds");
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): StoredSession | null {
    const entry = this.#alive(key);
    return entry ? (JSON.parse(entry.json) as StoredSession) : null;
  }

  set(key: string, session: StoredSession, ttl: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#limit) this.#makeRoom();
    this.#entries.set(key, { json: JSON.stringify(session), expires: Date.now() + ttl * 1000 });
  }

  touch(key: string, session: StoredSession, ttl: number): void {
    if (this.#alive(key)) this.set(key, session, ttl);
  }

  destroy(key: string): void {
    this.#entries.delete(key);
  }

  #alive(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && entry.expires <= Date.now()) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  #makeRoom(): void {
    const now = Date.now();
    for (const [key, entry] of this.#entries) if (entry.expires <= now) this.#entries.delete(key);
    if (this.#entries.size >= this.#limit) this.#entries.delete(this.#entries.keys().next().value!);
  }
}
