import { refusePromises } from "../../http/json/to-json.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { StoredSession } from "./store.js";

/** The data of sessions. Declare the keys by merging into this interface. */
export interface SessionData {
  [key: string]: unknown;
}

/** A session that was found for a request. Times are in seconds since 1970. */
export interface LoadedSession extends StoredSession {
  /** The secret that only the client has. */
  readonly token: string;
}

/** Data of one client between its requests. Values are kept as JSON. */
export class Session {
  readonly #loaded: LoadedSession | null;
  readonly #before: string;
  #data: Map<string, unknown>;
  #token: string | null;
  #created: number;
  #owner: string | undefined;

  /** @internal */
  constructor(loaded: LoadedSession | null) {
    this.#loaded = loaded;
    this.#data = new Map(Object.entries(loaded?.data ?? {}));
    this.#before = JSON.stringify(this);
    this.#token = loaded?.token ?? null;
    this.#created = loaded?.created ?? nowInSeconds();
    this.#owner = loaded?.owner;
  }

  /** Names the session, and is no secret: the cookie cannot be made from it. Another one after `regenerate()`. */
  get id(): string {
    return sessionId((this.#token ??= newToken()));
  }

  /** True if the client came without a session. */
  get isNew(): boolean {
    return this.#loaded === null;
  }

  /** When the session began, or was last regenerated. */
  get createdAt(): Date {
    return new Date(this.#created * 1000);
  }

  get<Key extends keyof SessionData>(key: Key): SessionData[Key] | undefined {
    return this.#data.get(key as string) as SessionData[Key] | undefined;
  }

  set<Key extends keyof SessionData>(key: Key, value: SessionData[Key]): this {
    refusePromises(value);
    this.#data.set(key as string, value);
    return this;
  }

  has(key: keyof SessionData): boolean {
    return this.#data.has(key as string);
  }

  delete(key: keyof SessionData): boolean {
    return this.#data.delete(key as string);
  }

  clear(): void {
    this.#data.clear();
  }

  /**
   * Gives the session a new id and a new lifetime; its data stays. Call it when a user logs in or gains rights, so that
   * an older copy of the cookie does not gain them too. With the id of a user the session is one of theirs:
   * `app.endSessions(user)` ends all of them.
   */
  regenerate(user?: string): void {
    if (user !== undefined) this.#owner = sessionOwner(user, "regenerate()");
    this.#token = newToken();
    this.#created = nowInSeconds();
  }

  /** Ends the session: its data is dropped, here and at the client. Data that is set afterwards begins a new one. */
  destroy(): void {
    this.#data = new Map();
    this.#token = null;
    this.#created = nowInSeconds();
    this.#owner = undefined;
  }

  toJSON(): Record<string, unknown> {
    return Object.fromEntries(this.#data);
  }

  /** @internal The state at the end of the request, for the store. */
  outcome(): SessionOutcome {
    const previous = this.#loaded;
    if (this.#data.size === 0 && this.#token === null) return { kind: previous ? "ended" : "nothing", previous };
    const token = (this.#token ??= newToken());
    const kind = token !== previous?.token ? "new" : JSON.stringify(this) === this.#before ? "same" : "changed";
    const owner = this.#owner;
    return {
      kind,
      previous,
      token,
      created: this.#created,
      data: this.toJSON(),
      ...(owner !== undefined && { owner }),
    };
  }
}

/** "new" has a token that the client does not have yet. */
export type SessionOutcome =
  | { readonly kind: "nothing" | "ended"; readonly previous: LoadedSession | null }
  | (Omit<LoadedSession, "active"> & {
      readonly kind: "new" | "same" | "changed";
      readonly previous: LoadedSession | null;
    });

/** Checks the id of a user. */
export function sessionOwner(user: unknown, call: string): string {
  if (typeof user === "string" && user !== "" && user.length <= 256) return user;
  throw new ValueError(`${call} takes the id of a user, a string of 1 to 256 characters, not ${show(user)}`);
}

export function sessionId(token: string): string {
  return nodeCrypto().createHash("sha256").update(token).digest("base64url");
}

export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function newToken(): string {
  return nodeCrypto().randomBytes(32).toString("base64url");
}
