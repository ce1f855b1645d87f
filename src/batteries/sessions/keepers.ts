import { asPromise, isPromise } from "../../kit/is-promise.js";
import { isPlainObject } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { SessionSettings } from "./options.js";
import { encryptedSeal, signedSeal } from "./seal.js";
import { type LoadedSession, sessionId } from "./session.js";
import type { SessionStore, StoredSession } from "./store.js";

/** Keeps sessions. The value of a cookie leads to one, or to nothing. */
export interface SessionKeeper {
  /** True if `load` never has to wait, so that it can run when the session is first used. */
  readonly lazy: boolean;
  load(cookie: string): LoadedSession | null | Promise<LoadedSession | null>;
  /** Keeps a session for `ttl` seconds and returns the value of its cookie; `isNew` if the client has no such cookie. */
  keep(session: LoadedSession, ttl: number, isNew: boolean): string | Promise<string>;
  end(session: LoadedSession): unknown;
}

/** The largest cookie that every browser takes, with its name and attributes (RFC 6265 section 6.1). */
const maxCookie = 4096;

/** The cookie holds the whole session. It cannot be taken back: one that was copied is good until it expires. */
export function cookieKeeper({ secrets, encrypted, cookieName }: SessionSettings): SessionKeeper {
  const seal = (encrypted ? encryptedSeal : signedSeal)(secrets, `session ${cookieName}`);
  return {
    lazy: true,
    load(cookie) {
      const text = seal.open(cookie);
      return text === null ? null : readSession(JSON.parse(text));
    },
    keep(session) {
      const value = seal.seal(JSON.stringify(session));
      if (value.length + cookieName.length > maxCookie - 200) {
        throw new ValueError("the session is too large for a cookie; give enableSessions a store");
      }
      return value;
    },
    end() {},
  };
}

/** The store holds the session, under a hash of the random token that the cookie holds. */
export function storeKeeper(store: SessionStore): SessionKeeper {
  const found = (token: string, stored: StoredSession | null | undefined): LoadedSession | null =>
    stored ? readSession({ ...stored, token }) : null;
  return {
    lazy: false,
    load(token) {
      if (!/^[\w-]{43}$/.test(token)) return null;
      const stored = store.get(sessionId(token));
      return isPromise(stored) ? asPromise(stored).then((value) => found(token, value)) : found(token, stored);
    },
    keep({ token, ...stored }, ttl, isNew) {
      const kept = isNew ? store.set(sessionId(token), stored, ttl) : store.touch(sessionId(token), stored, ttl);
      return isPromise(kept) ? asPromise(kept).then(() => token) : token;
    },
    end: ({ token }) => store.destroy(sessionId(token)),
  };
}

function readSession(value: unknown): LoadedSession | null {
  if (!isPlainObject(value)) return null;
  const { token, created, active, data, owner } = value;
  if (typeof token !== "string" || !isPlainObject(data)) return null;
  if (typeof created !== "number" || typeof active !== "number") return null;
  return { token, created, active, data, ...(typeof owner === "string" && { owner }) };
}
