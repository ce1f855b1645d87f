import type { Hash } from "node:crypto";
import { RecentMap } from "../../batteries/rate-limit/recent-map.js";
import { maxGroups, takeFrom, type Window } from "../../batteries/rate-limit/sliding-windows.js";
import type { RateLimiter, RateLimitStore, RatePolicy, RateVerdict } from "../../batteries/rate-limit/store.js";
import { takeOf } from "../../batteries/rate-limit/token-buckets.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { maxLocks, type SharedMemory, stateAt } from "../../server/process/shared-memory.js";

/** Clients of one set. One that finds no place in its set is counted by messages. */
const ways = 16;
/** Milliseconds within which a request that is counted by messages is counted, or fails. */
const messageTime = 5000;
/**
 * Milliseconds that a request waits for a lock before it is counted by messages. A busy system lets a process that holds one
 * wait for less.
 */
const lockTime = 500;
/** Keys whose hash a process knows. */
const knownKeys = 20_000;

/** A table of clients: `sets` times the end of the time in which clients of the set may be counted by messages, then the records. */
interface Table {
  readonly sets: number;
  /** The place of the first, and the size of a record, in units of 8 bytes. */
  readonly at: number;
  readonly size: number;
}

// A record is the hash of its client (2 units), the time from which it holds nothing (1), then that of a window: the place of
// its last entry (1), the times and the counts of its entries.
const until = 2;
const last = 3;
const times = 4;
const entries = maxGroups + 1;
const counts = times + entries;

const buckets: Table = { sets: 1 << 14, at: stateAt / 8, size: 3 };
const windows: Table = { sets: 1 << 10, at: endOf(buckets), size: counts + entries };

function endOf({ at, sets, size }: Table): number {
  return at + sets * (1 + ways * size);
}

/** The bytes that are used. */
export const sharedLimitsEnd: number = endOf(windows) * 8;

/** The place of a client: the hash of its key, and its set. */
interface Spot {
  readonly hash: Int32Array;
  readonly set: number;
}

/**
 * Counts requests in memory that all workers share. A client is counted in one place: in its set, or if that was full, by
 * messages, until nothing of what was counted there matters any more.
 */
export class SharedRateLimitStore implements RateLimitStore {
  readonly #memory: SharedMemory;
  readonly #messages: RateLimitStore;

  constructor(memory: SharedMemory, messages: RateLimitStore) {
    this.#memory = memory;
    this.#messages = messages;
  }

  limiter(policy: RatePolicy): RateLimiter {
    return new SharedRateLimiter(this.#memory, policy, this.#messages.limiter(policy));
  }
}

export class SharedRateLimiter implements RateLimiter {
  readonly #memory: SharedMemory;
  readonly #messages: RateLimiter;
  readonly #table: Table;
  readonly #windowMs: number;
  readonly #named: Hash;
  readonly #spots = new RecentMap<Spot>(knownKeys, Number.POSITIVE_INFINITY);
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  /** The locks that a process held for longer: until they are free, requests do not wait for them. */
  readonly #stuck = new Set<number>();
  /** Used again for each request. */
  readonly #window: Window = { total: 0, log: [] };

  constructor(memory: SharedMemory, policy: RatePolicy, messages: RateLimiter) {
    this.#memory = memory;
    this.#messages = messages;
    this.#table = policy.kind === "sliding_window" ? windows : buckets;
    this.#windowMs = policy.windowMs;
    // Clients must not choose their sets, nor one client that of another.
    this.#named = nodeCrypto().createHash("sha256").update(memory.secret).update(JSON.stringify(policy));
    this.#words = new Int32Array(memory.buffer);
    this.#numbers = new Float64Array(memory.buffer);
  }

  take(key: string, limit: number, cost = 1): RateVerdict | Promise<RateVerdict> {
    const spot = this.#spotOf(key);
    const lock = spot.set % maxLocks;
    if (!this.#memory.lock(lock)) {
      return this.#stuck.has(lock) ? this.#messages.take(key, limit, cost) : this.#takeLater(key, limit, cost, lock);
    }
    if (this.#stuck.size > 0) this.#stuck.delete(lock);
    let verdict: RateVerdict | null;
    try {
      verdict = this.#count(spot, limit, cost);
    } finally {
      this.#memory.unlock(lock);
    }
    return verdict ?? this.#messages.take(key, limit, cost);
  }

  /**
   * Another process has the lock and does not run. If it was killed, the supervisor releases the lock. If it is stopped, the
   * request is counted by messages: the memory and the supervisor then allow up to `limit` requests each.
   */
  async #takeLater(key: string, limit: number, cost: number, lock: number): Promise<RateVerdict> {
    for (const end = this.#memory.now() + lockTime; this.#memory.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (!this.#memory.lock(lock)) continue;
      this.#memory.unlock(lock);
      return this.take(key, limit, cost);
    }
    this.#stuck.add(lock);
    return this.#messages.take(key, limit, cost);
  }

  /** Null if the client is counted by messages. */
  #count(spot: Spot, limit: number, cost: number): RateVerdict | null {
    const now = this.#memory.now();
    const record = this.#find(spot, now);
    if (record < 0) return null;
    return this.#table === buckets ? this.#takeOf(record, now, limit, cost) : this.#takeFrom(record, now, limit, cost);
  }

  /** One store decides. */
  #takeOf(record: number, now: number, limit: number, cost: number): RateVerdict {
    const missing = Math.max(0, this.#numbers[record + until]! - now);
    const verdict = takeOf(missing, this.#windowMs, limit, cost);
    if (verdict.allowed) this.#numbers[record + until] = now + verdict.resetMs;
    return verdict;
  }

  #takeFrom(record: number, now: number, limit: number, cost: number): RateVerdict {
    const window = this.#window;
    const { log } = window;
    const numbers = this.#numbers;
    const horizon = now - this.#windowMs;
    const latest = numbers[record + last]!;
    window.total = log.length = 0;
    for (let i = 1; i <= entries; i++) {
      const entry = record + ((latest + i) % entries);
      if (numbers[entry + times]! <= horizon) continue;
      log.push(numbers[entry + times]!, numbers[entry + counts]!);
      window.total += numbers[entry + counts]!;
    }
    const verdict = takeFrom(window, now, this.#windowMs, limit, cost);
    if (verdict.allowed) this.#note(record, latest, horizon, log[log.length - 2]!, cost);
    return verdict;
  }

  /** The last store makes a new entry count: before, its time is one that is over. */
  #note(record: number, latest: number, horizon: number, time: number, cost: number): void {
    const numbers = this.#numbers;
    numbers[record + until] = Math.max(numbers[record + until]!, time + this.#windowMs);
    const isOver = (entry: number): boolean => numbers[record + times + entry]! <= horizon;
    const next = isOver(latest) ? latest : (latest + 1) % entries;
    if (numbers[record + times + latest] === time || !isOver(next)) {
      // Without a free entry, the last one counts for longer than it must.
      numbers[record + times + latest] = Math.max(time, numbers[record + times + latest]!);
      numbers[record + counts + latest]! += cost;
      return;
    }
    numbers[record + last] = next;
    numbers[record + counts + next] = cost;
    numbers[record + times + next] = time;
  }

  /** The record of a client, a free one made its own; below 0 if it is counted by messages. */
  #find({ hash, set }: Spot, now: number): number {
    const { at, sets, size } = this.#table;
    const words = this.#words;
    const numbers = this.#numbers;
    const first = at + sets + set * ways * size;
    let free = -1;
    for (let i = 0; i < ways; i++) {
      const record = first + i * size;
      const word = 2 * record;
      if (
        words[word] === hash[0] &&
        words[word + 1] === hash[1] &&
        words[word + 2] === hash[2] &&
        words[word + 3] === hash[3]
      )
        return record;
      if (free < 0 && numbers[record + until]! <= now) free = record;
    }
    const byMessages = numbers[at + set]!;
    if (free < 0 || byMessages > now) {
      numbers[at + set] = Math.max(byMessages, now + 2 * this.#windowMs + messageTime);
      return -1;
    }
    // Under another policy, entries that are over may not be.
    if (size > counts) numbers.fill(Number.NEGATIVE_INFINITY, free + times, free + counts);
    words.set(hash, 2 * free);
    return free;
  }

  #spotOf(key: string): Spot {
    let spot = this.#spots.get(key, 0);
    if (spot === undefined) {
      const digest = this.#named.copy().update(key, "utf16le").digest();
      const hash = Int32Array.from([0, 4, 8, 12], (at) => digest.readInt32LE(at));
      spot = { hash, set: digest.readUInt32LE(16) % this.#table.sets };
      this.#spots.add(key, spot, 0);
    }
    return spot;
  }
}
