import type { EndingSource } from "../../pipeline/open-authorities.js";

/** A stored session: times in seconds since 1970, and the data of the application. */
export interface StoredSession {
  readonly created: number;
  readonly active: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Keeps sessions on the server. The key is a hash of the cookie's value, so that a reader of the store cannot take over
 * a session. Each method may return a promise. `watch` is optional: the store reports keys that `destroy` is called with, in
 * all processes.
 */
export interface SessionStore extends EndingSource {
  get(key: string): StoredSession | null | undefined | Promise<StoredSession | null | undefined>;
  /** Keeps a new session for so many seconds. */
  set(key: string, session: StoredSession, ttl: number): unknown;
  /** Keeps a session that is there for so many seconds more. One that has been ended meanwhile must stay ended. */
  touch(key: string, session: StoredSession, ttl: number): unknown;
  destroy(key: string): unknown;
}
