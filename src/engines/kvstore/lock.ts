import { setTimeout as sleep } from "node:timers/promises";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { is, show } from "../../kit/options.js";
import { milliseconds } from "../../kit/time/duration.js";
import { Term } from "../../kit/time/term.js";
import { ValueError } from "../../kit/value-error.js";
import { KvStoreError } from "./errors.js";
import type { KvScript } from "./script.js";

const lockOptions = options("lock()", {
  /** Time after which the lock is free if its holder has died. It is renewed while the function runs. Default 10 seconds. */
  ttl: option.duration("10s", "1ms", "24d"),
  /** Time to wait while another holder has it. Default 0. */
  wait: option.duration(0),
  /** Ends the wait; `lock.signal` is aborted with it. */
  signal: option(is.signal),
});

export interface LockOptions extends OptionsOf<typeof lockOptions.fields> {}

/** A lock that is held. */
export interface KvLock {
  readonly key: string;
  /**
   * The fencing token: a number that grows with each holder. A resource that refuses smaller numbers than it has seen is
   * safe from a holder that was paused and woke up too late.
   */
  readonly token: number;
  /** Aborted when the lock is lost: it could not be renewed in time. */
  readonly signal: AbortSignal;
}

export interface LockScripts {
  readonly take: KvScript<number>;
  readonly renew: KvScript<number>;
  readonly free: KvScript<number>;
}

/**
 * Tokens are taken from the server's clock, in microseconds, and grow by one at least. So they continue growing where the
 * key that remembers the last one has expired.
 */
export const takeLock = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) == false then return 0 end
local time = redis.call('TIME')
local token = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if token <= last then token = last + 1 end
redis.call('SET', KEYS[2], string.format('%.0f', token), 'EX', 604800)
return token
`;

export const renewLock = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

export const freeLock = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`;

/** Runs a function while it holds a lock that all processes share. */
export async function withLock<T>(
  scripts: LockScripts,
  key: string,
  given: LockOptions,
  run: (lock: KvLock) => Promise<T> | T,
): Promise<T> {
  const { ttl, wait, signal } = lockOptions.read([given]);
  if (typeof run !== "function") throw new ValueError("lock() takes a function (lock) last");
  const held = new Held(scripts, key, milliseconds(ttl));
  const token = await held.take(milliseconds(wait), signal);
  const signals = signal === undefined ? held.signal : AbortSignal.any([held.signal, signal]);
  try {
    return await run({ key, token, signal: signals });
  } finally {
    await held.free();
  }
}

class Held {
  readonly #scripts: LockScripts;
  readonly #key: string;
  readonly #term: Term;
  readonly #owner = nodeCrypto().randomUUID();
  readonly #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #freed = false;

  constructor(scripts: LockScripts, key: string, ttlMs: number) {
    this.#scripts = scripts;
    this.#key = key;
    this.#term = new Term(ttlMs);
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  async take(waitMs: number, signal: AbortSignal | undefined): Promise<number> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const extended = this.#term.extend();
      const token = await this.#take();
      if (token > 0) {
        extended();
        this.#schedule(this.#term.leaseMs / 3);
        return token;
      }
      const left = deadline - performance.now();
      if (left <= 0) {
        throw new KvStoreError("LOCKED", `the lock ${show(this.#key)} is held by another holder`);
      }
      // Random, so that waiting processes do not all retry at once.
      await sleep(Math.min(left, 25 + Math.random() * 75), undefined, signal === undefined ? {} : { signal });
    }
  }

  async free(): Promise<void> {
    this.#freed = true;
    clearTimeout(this.#timer);
    // It ends by itself where the store cannot be reached.
    await this.#scripts.free.run([lockKey(this.#key)], [this.#owner]).catch(() => undefined);
  }

  async #take(): Promise<number> {
    const keys = [lockKey(this.#key), `${lockKey(this.#key)}:token`];
    try {
      return Number(await this.#scripts.take.run(keys, [this.#owner, this.#term.leaseMs]));
    } catch (error) {
      // The server may have given the lock though its reply was lost.
      void this.free();
      throw error;
    }
  }

  #schedule(pause: number): void {
    this.#timer = setTimeout(() => void this.#renew(), pause);
  }

  async #renew(): Promise<void> {
    const term = this.#term;
    const extended = term.extend();
    const deadline = setTimeout(() => this.#lose(), Math.max(0, term.left));
    let renewed: number | null = null;
    try {
      renewed = await this.#scripts.renew.run([lockKey(this.#key)], [this.#owner, term.leaseMs]);
    } catch {
      // Tried again until the time is up.
    }
    clearTimeout(deadline);
    if (this.#freed || this.#lost.signal.aborted) return;
    if (renewed === 1) {
      extended();
      this.#schedule(term.leaseMs / 3);
    } else if (renewed === 0 || !term.held) {
      this.#lose();
    } else {
      this.#schedule(Math.min(term.left, term.leaseMs / 10));
    }
  }

  #lose(): void {
    clearTimeout(this.#timer);
    if (!this.#freed) this.#lost.abort(new KvStoreError("LOCK_LOST", `the lock ${show(this.#key)} was lost`));
  }
}

/** Braces keep the lock and its token on one server of a cluster. */
function lockKey(key: string): string {
  return `lock:{${key}}`;
}
