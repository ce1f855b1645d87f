import { toJson } from "../../http/json/to-json.js";
import type { Logger } from "../../kit/logger.js";
import { show } from "../../kit/options.js";
import { poll } from "../../kit/time/backoff.js";
import { milliseconds } from "../../kit/time/duration.js";
import { Pace } from "../../kit/time/pace.js";
import { within } from "../../kit/time/within.js";
import { ValueError } from "../../kit/value-error.js";
import { boundedText } from "./bounded-text.js";
import { sizeOf } from "./entry.js";
import { dataOptions } from "./options.js";
import { PendingWrites } from "./pending-writes.js";
import { maxRefreshes } from "./refresher.js";
import { type CacheEntry, type CacheStore, cacheTime } from "./store.js";
import type { StoreCalls } from "./store-calls.js";

/** One call of `fetch`. */
interface Search {
  readonly name: string;
  readonly key: string;
  readonly make: () => unknown;
  readonly tags: readonly string[];
  readonly ttlMs: number;
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  readonly waitMs: number;
  readonly leaseMs: number;
}

/** `kept` is false if the value was invalidated while it was made: callers that waited for it look again. */
interface Made {
  readonly entry: CacheEntry;
  readonly kept: boolean;
}

/** Values of the application, in the store of the responses and with the same tags. */
export class DataCache {
  readonly #pace = new Pace();
  /** Values that are being made in this process. */
  readonly #flights = new Map<string, Promise<Made>>();
  readonly #renewals = new PendingWrites();
  #renewing = 0;

  constructor(
    private readonly store: CacheStore,
    private readonly calls: StoreCalls,
    private readonly maxEntrySize: number,
    private readonly logger: Logger,

    /** Runs a function outside of the caller's request and transaction, which may be over when it runs. */
    private readonly detached: <T>(run: () => T) => T,
  ) {}

  async fetch(name: unknown, given: unknown, make: unknown): Promise<unknown> {
    const search = searchOf(name, given, make);
    const found = await this.#find(search);
    if (isFresh(found)) return copyOf(found);
    if (isUsable(found, "staleWhileRevalidateMs")) {
      this.#renew(search, found);
      return copyOf(found);
    }
    try {
      return copyOf(await this.#make(search));
    } catch (error) {
      if (!isUsable(found, "staleIfErrorMs")) throw error;
      this.#complain(search, error);
      return copyOf(found);
    }
  }

  /** Resolves when the values are stored that are being renewed. */
  settled(): Promise<void> {
    return this.#renewals.settled();
  }

  #find({ key }: Search): CacheEntry | undefined | Promise<CacheEntry | undefined> {
    return this.calls.try(() => this.store.find(key, () => undefined), undefined);
  }

  /** Makes the value, or waits for another call that does so. */
  async #make(search: Search): Promise<CacheEntry> {
    for (let patience = 3; patience > 0; patience--) {
      const flight = this.#flights.get(search.key);
      if (flight === undefined) return (await this.#begin(search, null)).entry;
      const made = await within(flight, search.waitMs, () => null);
      if (made === null) break;
      if (made.kept) return made.entry;
    }
    return (await this.#run(search)).entry;
  }

  #begin(search: Search, stale: CacheEntry | null): Promise<Made> {
    const flight = this.#alone(search, stale).finally(() => this.#flights.delete(search.key));
    this.#flights.set(search.key, flight);
    return flight;
  }

  /** Makes the value unless another process does so. That one is waited for, but not to renew a stale value. */
  async #alone(search: Search, stale: CacheEntry | null): Promise<Made> {
    const { key, leaseMs } = search;
    const look = async (): Promise<Made | null> => {
      const found = await this.#find(search);
      return isFresh(found) ? { entry: found, kept: true } : null;
    };
    const attempt = async (): Promise<Made | null> => {
      const run = async (): Promise<Made> => (await look()) ?? this.#run(search);
      return (await this.store.exclusively!(key, leaseMs, run)) ?? look();
    };
    if (this.store.exclusively === undefined) return this.#run(search);
    const timeoutMs = stale === null ? search.waitMs : 0;
    const made = await poll(attempt, { first: 20, longest: 250, timeoutMs, signal: undefined });
    return made ?? (stale === null ? this.#run(search) : { entry: stale, kept: false });
  }

  async #run(search: Search): Promise<Made> {
    const { key, make } = search;
    const ticket = await this.calls.try<number | null>(() => this.store.begin(key), null);
    const entry = entryOf(search, await make());
    if (entry.size > this.maxEntrySize) {
      this.#complain(search, new ValueError(`it takes ${entry.size} bytes, and maxEntrySize is ${this.maxEntrySize}`));
    } else if (ticket !== null) {
      return { entry, kept: await this.calls.try(() => this.store.put(ticket, key, entry), true) };
    }
    return { entry, kept: true };
  }

  #renew(search: Search, stale: CacheEntry): void {
    if (this.#flights.has(search.key) || this.#renewing >= maxRefreshes) return;
    this.#renewing++;
    const renewal = this.detached(() => this.#begin(search, stale)).then(
      () => undefined,
      (error: unknown) => this.#complain(search, error),
    );
    this.#renewals.add(renewal, 0);
    void renewal.then(() => this.#renewing--);
  }

  #complain({ name }: Search, error: unknown): void {
    const fields = this.#pace.next();
    if (fields) this.logger.error(`no new value of the key ${show(name)} was cached`, { ...fields, error });
  }
}

function searchOf(name: unknown, given: unknown, make: unknown): Search {
  if (typeof name !== "string" || name === "") throw new ValueError(`a key of the cache is a text, not ${show(name)}`);
  if (typeof make !== "function") {
    throw new ValueError(
      `app.cache.fetch() takes a key, options and a function that makes the value, not ${show(make)}`,
    );
  }
  const { ttl, jitter, tags, ...times } = dataOptions.read([given]);
  return {
    name,
    // Keys of responses begin with a method.
    key: boundedText(`\n${name}`),
    make: make as () => unknown,
    tags: [...new Set([name, ...tags].map(boundedText))],
    ttlMs: milliseconds(ttl) * (1 - jitter * Math.random()),
    staleWhileRevalidateMs: milliseconds(times.staleWhileRevalidate),
    staleIfErrorMs: milliseconds(times.staleIfError),
    waitMs: milliseconds(times.wait),
    leaseMs: milliseconds(times.lease),
  };
}

function entryOf(
  { name, key, tags, ttlMs, staleWhileRevalidateMs, staleIfErrorMs }: Search,
  value: unknown,
): CacheEntry {
  const body = toJson(value);
  if (body === undefined) {
    throw new ValueError(
      `the value of the key ${show(name)} is ${show(value)}, which has no JSON: return null for nothing`,
    );
  }
  const type = "application/json";
  const madeAt = cacheTime();
  return {
    status: 200,
    type,
    fields: [],
    body,
    tags,
    vary: [],
    madeAt,
    initialAgeMs: 0,
    date: Date.now(),
    freshUntil: madeAt + ttlMs,
    staleWhileRevalidateMs,
    staleIfErrorMs,
    mayBeStale: true,
    size: sizeOf({ key, body, type, fields: [], tags, vary: [] }),
  };
}

/** A copy for each caller: none sees what another does to it. */
function copyOf(entry: CacheEntry): unknown {
  return JSON.parse(String(entry.body));
}

function isFresh(entry: CacheEntry | undefined): entry is CacheEntry {
  return entry !== undefined && entry.freshUntil > cacheTime();
}

function isUsable(
  entry: CacheEntry | undefined,
  time: "staleWhileRevalidateMs" | "staleIfErrorMs",
): entry is CacheEntry {
  return entry !== undefined && cacheTime() - entry.freshUntil < entry[time];
}
