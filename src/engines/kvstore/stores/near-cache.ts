import { MemoryCacheStore } from "../../../batteries/cache/memory-store.js";
import { type CacheEntry, type CacheStore, cacheTime, type FieldOf } from "../../../batteries/cache/store.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import type { KvStore } from "../kvstore.js";
import type { KvCacheStore } from "./cache.js";

/** Bytes of the responses that each process keeps near. */
const nearSize = 16 * 1024 * 1024;
/** Milliseconds for which a response is kept near: so long may the server have dropped it by itself. */
const nearMs = 10_000;
/** Milliseconds between two signs of life, and the time for which one is believed. */
const pulseEvery = 250;
const believedMs = 1000;
/** Milliseconds without a request after which the signs of life pause. */
const idleMs = 5000;

interface NearEntry extends CacheEntry {
  readonly whole: CacheEntry;
  readonly nearUntil: number;
}

/**
 * Keeps the responses of the key-value store that are in use near, so that a hit costs no round trip. The scripts of the
 * cache publish what they drop, and each process drops it too. A process believes its responses only while its connection
 * for messages is known to work: it sends itself a message four times a second, which comes after everything that was
 * published before. CLIENT TRACKING would do the same for keys, but an entry ends with its tags, which are other keys.
 */
export class NearCacheStore implements CacheStore {
  readonly #kv: KvStore;
  readonly #far: KvCacheStore;
  readonly #near = new MemoryCacheStore(nearSize);
  readonly #channel = `cache:pulse:${nodeCrypto().randomUUID()}`;
  /** The time of the last sign of life that has come back. */
  #aliveAt = Number.NEGATIVE_INFINITY;
  #usedAt = 0;
  #isSubscribed = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(kv: KvStore, far: KvCacheStore) {
    this.#kv = kv;
    this.#far = far;
  }

  find(key: string, field: FieldOf): CacheEntry | undefined | Promise<CacheEntry | undefined> {
    const now = performance.now();
    this.#usedAt = now;
    if (now - this.#aliveAt < believedMs) {
      const found = this.#near.find(key, field) as NearEntry | undefined;
      if (found !== undefined && found.nearUntil > cacheTime()) return found.whole;
    }
    if (this.#timer === null) this.#begin();
    return this.#fetch(key, field);
  }

  begin(key?: string): number | Promise<number> {
    return this.#far.begin(key);
  }

  async put(ticket: number, key: string, entry: CacheEntry): Promise<boolean> {
    const near = this.#near.begin();
    const kept = await this.#far.put(ticket, key, entry);
    if (kept) this.#keep(near, key, entry);
    return kept;
  }

  exclusively<T>(key: string, leaseMs: number, run: () => Promise<T>): Promise<T | null> {
    return this.#far.exclusively(key, leaseMs, run);
  }

  async remove(key: string): Promise<void> {
    await this.#far.remove(key);
    this.#near.remove(key);
  }

  async invalidate(tags: readonly string[]): Promise<number> {
    const dropped = await this.#far.invalidate(tags);
    this.#near.invalidate(tags.map((tag) => this.#far.tagId(tag)));
    return dropped;
  }

  async #fetch(key: string, field: FieldOf): Promise<CacheEntry | undefined> {
    // Taken before the request: what is published while it is under way is not missed.
    const near = this.#near.begin();
    const entry = await this.#far.find(key, field);
    if (entry !== undefined) this.#keep(near, key, entry);
    return entry;
  }

  #keep(ticket: number, key: string, whole: CacheEntry): void {
    const now = cacheTime();
    if (!this.#isSubscribed || whole.freshUntil <= now) return;
    const tags = [...whole.tags.map((tag) => this.#far.tagId(tag)), this.#far.idOf(key)];
    const entry: NearEntry = { ...whole, tags, whole, nearUntil: Math.min(whole.freshUntil, now + nearMs) };
    this.#near.put(ticket, key, entry);
  }

  /** Subscribes with the first request, and then sends signs of life while there are requests. */
  #begin(): void {
    this.#timer = setInterval(() => this.#pulse(), pulseEvery).unref();
    if (this.#isSubscribed) {
      this.#pulse();
      return;
    }
    const clear = (): void => {
      this.#aliveAt = Number.NEGATIVE_INFINITY;
      this.#near.clear();
    };
    const drop = (message: string): void => void this.#near.invalidate(message.split(" "));
    const hear = (sentAt: string): void => {
      this.#aliveAt = Math.max(this.#aliveAt, Number(sentAt));
    };
    Promise.all([
      this.#kv.subscribe("cache:gone", drop, { onGap: clear }),
      this.#kv.subscribe(this.#channel, hear),
    ]).then(
      () => {
        this.#isSubscribed = true;
        this.#pulse();
      },
      // Without messages each request asks the store. The next request tries again.
      () => this.#pause(),
    );
  }

  #pulse(): void {
    const now = performance.now();
    if (now - this.#usedAt > idleMs) {
      this.#pause();
      return;
    }
    if (this.#isSubscribed) this.#kv.publish(this.#channel, now).catch(() => undefined);
  }

  #pause(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
