/** A stored response. Plain data, so that a store can keep it outside the process. Times are in milliseconds. */
export interface CacheEntry {
  readonly status: number;
  /** Content-Type. */
  readonly type: string | null;
  /** The other fields: names and values in turn. */
  readonly fields: readonly string[];
  readonly body: string | Uint8Array | null;
  readonly tags: readonly string[];
  /** Fields of the request on which the response depends: names in lower case, and values; null if absent. */
  readonly vary: readonly (readonly [name: string, value: string | null])[];
  /** The time at which the response was stored, by `cacheTime`, and its age by then. */
  readonly madeAt: number;
  readonly initialAgeMs: number;
  /** The same time by the wall clock, to compare with dates that clients send. */
  readonly date: number;
  readonly freshUntil: number;
  /** Time after that for which it may be sent while a new one is made, or in place of an error. */
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  /** True if it may be sent when it is stale. */
  readonly mayBeStale: boolean;
  /** Bytes it takes in memory, its key included. */
  readonly size: number;
}

/** The value of a request's field named in lower case. */
export type FieldOf = (name: string) => string | undefined;

/** A store of responses: in this process, or shared by all workers. Keys and tags have at most 256 characters. */
export interface CacheStore {
  /** The newest entry under a key that matches the request by the fields it varies on, fresh or not. */
  find(key: string, field: FieldOf): CacheEntry | undefined | Promise<CacheEntry | undefined>;
  /**
   * Called before the handler runs. Returns a ticket, by which `put` detects invalidations since then. `key` is given after
   * a `find` of this key.
   */
  begin(key?: string): number | Promise<number>;
  /**
   * Stores an entry in place of the one for the same fields. Returns false and stores nothing if one of its tags was
   * invalidated since the ticket was made.
   */
  put(ticket: number, key: string, entry: CacheEntry): boolean | Promise<boolean>;
  /**
   * Runs a function while no other process does so for this key. Returns null if another one does: it has the key until it
   * has ended, or `leaseMs` after it has died. A store that is away runs the function. Stores of one process need
   * no such method.
   */
  exclusively?<T>(key: string, leaseMs: number, run: () => Promise<T>): Promise<T | null>;
  /** Drops everything under a key. */
  remove(key: string): void | Promise<void>;
  /** Drops every entry with one of the tags. Returns their number. */
  invalidate(tags: readonly string[]): number | Promise<number>;
}

/** Milliseconds since 1970 by a clock that is never set back, so that they compare within and between machines. */
export function cacheTime(): number {
  return performance.timeOrigin + performance.now();
}
