import type { EndingSource } from "../../pipeline/open-authorities.js";

/** A stored session: times in seconds since 1970, and the data of the application. */
export interface StoredSession {
  readonly created: number;
  readonly active: number;
  readonly data: Readonly<Record<string, unknown>>;
  /** The id of the user, as given to `regenerate`. */
  readonly owner?: string;
}

export type OwnedSessions = readonly (readonly [key: string, session: StoredSession])[];

/**
 * Keeps sessions on the server. The key is a hash of the cookie's value, so that a reader of the store cannot take over
 * a session. Each method may return a promise. `watch` is optional: the store reports keys that are destroyed, in all
 * processes.
 */
export interface SessionStore extends EndingSource {
  get(key: string): StoredSession | null | undefined | Promise<StoredSession | null | undefined>;
  /** Keeps a new session for so many seconds. */
  set(key: string, session: StoredSession, ttl: number): unknown;
  /** Extends an existing session by so many seconds. A session that has ended stays ended. */
  touch(key: string, session: StoredSession, ttl: number): unknown;
  /** Ends a session. False if there was none: one that is regenerated at the same time has ended then. */
  destroy(key: string): unknown;
  /** Destroys all sessions of a user, and returns their keys. Optional: `app.endSessions()` needs it. */
  destroyAll?(owner: string): readonly string[] | Promise<readonly string[]>;
  /** All sessions of a user, with their keys. Optional: `app.sessionsOf()` needs it. */
  list?(owner: string): OwnedSessions | Promise<OwnedSessions>;
}
