/** An answer that is kept. Plain data, so that a store may keep it elsewhere. Times are in milliseconds. */
export interface CacheEntry {
  readonly status: number;
  /** Content-Type. */
  readonly type: string | null;
  /** The other fields: names and values in turn. */
  readonly fields: readonly string[];
  readonly body: string | Uint8Array | null;
  readonly tags: readonly string[];
  /** Fields of the request on which the answer depends, in lower case, and what they were; null for absent. */
  readonly vary: readonly (readonly [name: string, value: string | null])[];
  /** When the answer was made, as `cacheTime` counts, and how old it was by then. */
  readonly madeAt: number;
  readonly initialAge: number;
  /** When it was made by the clock on the wall, to compare with dates that clients send. */
  readonly date: number;
  readonly freshUntil: number;
  /** How long after that it may be given while a new one is made, or in place of an error. */
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  /** Whether it may be given at all when it is not fresh. */
  readonly mayBeStale: boolean;
  /** Bytes it takes, all in all. */
  readonly size: number;
}

/** The value of a request's field named in lower case. */
export type FieldOf = (name: string) => string | undefined;

/** Where answers are kept: in this process, or in a store that all workers share. */
export interface CacheStore {
  /** The newest entry under a key that matches the request by the fields it varies on, fresh or not. */
  find(key: string, field: FieldOf): CacheEntry | undefined | Promise<CacheEntry | undefined>;
  /** Called before an answer is made: a ticket by which the store knows what was invalidated since. */
  begin(): number | Promise<number>;
  /** Keeps an entry in place of the one for the same fields; false, and nothing kept, when one of its tags was
   * invalidated since the ticket was given. */
  put(ticket: number, key: string, entry: CacheEntry): boolean | Promise<boolean>;
  /** Forgets everything under a key. */
  remove(key: string): void | Promise<void>;
  /** Forgets every entry with one of the tags; tells how many there were. */
  invalidate(tags: readonly string[]): number | Promise<number>;
}

/** The wall clock as it was when the process began, going on evenly: comparable between machines, and never set back. */
export function cacheTime(): number {
  return performance.timeOrigin + performance.now();
}
