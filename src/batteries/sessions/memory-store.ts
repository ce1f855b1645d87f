import { textSize } from "../../kit/own-copy.js";
import { type Linked, RecencyList } from "../../kit/recency-list.js";
import { ValueError } from "../../kit/value-error.js";
import type { EndingListener } from "../../pipeline/open-authorities.js";
import { perProcess } from "../../pipeline/shared-stores.js";
import type { SessionStore, StoredSession } from "./store.js";

interface Entry extends Linked<Entry> {
  readonly key: string;
  readonly json: string;
  readonly expires: number;
  readonly size: number;
  readonly owner: string | undefined;
}

/** Milliseconds between two searches for expired sessions. */
const sweepEvery = 10_000;
/** Bytes of a session beside its texts. */
const overhead = 250;

/**
 * Sessions in memory: for development and tests. They end with the server. Of several workers the supervisor keeps them.
 * When there are too many, or they take too many bytes, those written longest ago are dropped.
 */
export class MemorySessionStore implements SessionStore {
  /** @internal */
  readonly [perProcess] = true;
  readonly #entries = new Map<string, Entry>();
  readonly #written = new RecencyList<Entry>();
  /** @internal */
  readonly limit: number;
  /** @internal */
  readonly maxSize: number;
  readonly #listeners: EndingListener[] = [];
  #size = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** `limit` is the largest number of sessions, `maxSize` the largest number of bytes that they take together. */
  constructor(limit = 10_000, maxSize = 67_108_864) {
    if (!Number.isInteger(limit) || limit < 1)
      throw new ValueError("MemorySessionStore takes the largest number of sessions, an integer from 1 on");
    if (!Number.isInteger(maxSize) || maxSize < 1)
      throw new ValueError("MemorySessionStore takes the largest number of bytes, an integer from 1 on");
    this.limit = limit;
    this.maxSize = maxSize;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): StoredSession | null {
    const entry = this.#alive(key);
    return entry ? (JSON.parse(entry.json) as StoredSession) : null;
  }

  set(key: string, session: StoredSession, ttl: number): void {
    this.#remove(key);
    const json = JSON.stringify(session);
    const size = textSize(key) + textSize(json) + overhead;
    const { owner } = session;
    const entry: Entry = { key, json, expires: Date.now() + ttl * 1000, size, owner, newer: null, older: null };
    if (size > this.maxSize) throw new ValueError("the session is larger than all that the MemorySessionStore holds");
    if (this.#isFull(size)) this.#sweep();
    while (this.#isFull(size)) this.#drop(this.#written.oldest!);
    this.#entries.set(key, entry);
    this.#written.add(entry);
    this.#size += size;
  }

  touch(key: string, session: StoredSession, ttl: number): void {
    if (this.#alive(key)) this.set(key, session, ttl);
  }

  destroy(key: string): boolean {
    const isAlive = this.#alive(key) !== undefined;
    this.#remove(key);
    for (const listener of this.#listeners) listener.ended(key);
    return isAlive;
  }

  /** Looks at every session: there are at most `limit`. */
  destroyAll(owner: string): string[] {
    const keys = this.#keysOf(owner);
    for (const key of keys) this.destroy(key);
    return keys;
  }

  list(owner: string): [key: string, session: StoredSession][] {
    return this.#keysOf(owner).flatMap((key) => {
      const session = this.get(key);
      return session === null ? [] : [[key, session]];
    });
  }

  #keysOf(owner: string): string[] {
    return [...this.#entries.values()].filter((entry) => entry.owner === owner).map(({ key }) => key);
  }

  watch(listener: EndingListener): void {
    this.#listeners.push(listener);
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry) this.#drop(entry);
  }

  #alive(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expires > Date.now()) return entry;
    this.#drop(entry);
    return undefined;
  }

  #isFull(added: number): boolean {
    return this.#entries.size >= this.limit || this.#size + added > this.maxSize;
  }

  /** Drops expired sessions. It looks at every session, so it runs seldom. */
  #sweep(): void {
    const now = Date.now();
    if (performance.now() - this.#sweptAt < sweepEvery) return;
    this.#sweptAt = performance.now();
    for (const entry of this.#entries.values()) if (entry.expires <= now) this.#drop(entry);
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#written.remove(entry);
    this.#size -= entry.size;
  }
}
