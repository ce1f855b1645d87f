import { serializeCookie } from "../../http/fields/cookies.js";
import { addVary } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { asPromise, isPromise } from "../../kit/is-promise.js";
import { ValueError } from "../../kit/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { OpenAuthorities } from "../../pipeline/open-authorities.js";
import { storeReply } from "../../pipeline/store-reply.js";
import { addCookie } from "./add-cookie.js";
import { cookieKeeper, type SessionKeeper, storeKeeper } from "./keepers.js";
import type { SessionSettings } from "./options.js";
import { type LoadedSession, nowInSeconds, Session, type SessionOutcome, sessionId, sessionOwner } from "./session.js";
import { SessionAuthority, type WatchSession } from "./session-authority.js";
import type { StoredSession } from "./store.js";
import { UserSession } from "./user-session.js";

interface Opened {
  readonly session: Session;
  readonly loaded: LoadedSession | null;
  /** Null if the session was not used. */
  authority: SessionAuthority | null;
}

/** Finds the session of a request and stores its changes. */
export class Sessions {
  readonly settings: SessionSettings;
  readonly #keeper: SessionKeeper;
  readonly #secure: () => boolean;
  readonly #opened = new WeakMap<Request, Opened>();
  /** WebSockets and streams, by the id of their session. */
  readonly #open: OpenAuthorities;

  /** `secure` returns true if the cookie is for HTTPS alone; used if the options do not set it. */
  constructor(settings: SessionSettings, secure: () => boolean) {
    this.settings = settings;
    this.#keeper = settings.store ? storeKeeper(settings.store) : cookieKeeper(settings);
    this.#secure = secure;
    this.#open = new OpenAuthorities(() => settings.store ?? {});
  }

  get middleware(): Middleware {
    return {
      name: "sessions",
      slot: "session",
      early: true,
      before: (request: Request) => {
        request.strictJson = true;
        return this.#keeper.lazy ? undefined : this.#load(request);
      },
      after: (request, response) => this.#close(request, response),
    };
  }

  /** The session of a request; an empty one when it has none. */
  of(request: Request): Session {
    let opened = this.#opened.get(request);
    if (opened === undefined) {
      const cookie = this.#keeper.lazy ? this.#cookie(request) : undefined;
      const loaded = cookie === undefined ? null : (this.#keeper.load(cookie) as LoadedSession | null);
      opened = this.#remember(request, loaded);
    }
    request.personal = true;
    if (opened.authority === null) {
      opened.authority = new SessionAuthority(this.#watch, opened.loaded?.token ?? null);
      request.acceptedWith(opened.authority);
    }
    return opened.session;
  }

  /** Ends all sessions of a user, and returns their number. */
  async endAll(user: string): Promise<number> {
    const owner = sessionOwner(user, "endSessions()");
    const { store } = this.settings;
    if (store === null) throw new ValueError("endSessions() needs a store: a session in a cookie cannot be ended");
    if (store.destroyAll === undefined) throw new ValueError("endSessions() needs a store with the method destroyAll");
    const keys = await store.destroyAll(owner);
    // A store of the application need not report it.
    for (const key of keys) this.#open.end(key);
    return keys.length;
  }

  /** The sessions of a user, the one that was used last first. */
  async listOf(user: string): Promise<UserSession[]> {
    const owner = sessionOwner(user, "sessionsOf()");
    const { store } = this.settings;
    if (store === null)
      throw new ValueError("sessionsOf() needs a store: sessions in cookies are not known to the server");
    if (store.list === undefined) throw new ValueError("sessionsOf() needs a store with the method list");
    const listed = (await store.list(owner)).filter(([, session]) => this.#isAlive(session));
    const end = async (id: string): Promise<void> => {
      await store.destroy(id);
      // A store of the application need not report it.
      this.#open.end(id);
    };
    return listed
      .sort(([, one], [, other]) => other.active - one.active)
      .map(([id, session]) => new UserSession(id, session, end));
  }

  readonly #watch: WatchSession = (token, end) =>
    this.#open.watch(
      [sessionId(token)],
      async () => this.#keeper.lazy || (await this.#keeper.load(token)) !== null,
      end,
    );

  #load(request: Request): void | Promise<void> {
    const cookie = this.#cookie(request);
    if (cookie === undefined) return undefined;
    const loaded = this.#keeper.load(cookie);
    if (isPromise(loaded)) return storeReply(request, loaded).then((value) => void this.#remember(request, value));
    this.#remember(request, loaded);
    return undefined;
  }

  #cookie(request: Request): string | undefined {
    const { cookieName } = this.settings;
    // Most requests of most applications come without one.
    return request.source.header("cookie")?.includes(cookieName) ? request.cookies.get(cookieName) : undefined;
  }

  #remember(request: Request, loaded: LoadedSession | null): Opened {
    const found = loaded !== null && this.#isAlive(loaded) ? loaded : null;
    const opened: Opened = { session: new Session(found), loaded: found, authority: null };
    this.#opened.set(request, opened);
    return opened;
  }

  #isAlive({ created, active }: StoredSession): boolean {
    const now = nowInSeconds();
    return now < active + this.settings.idleTimeout && now < created + this.settings.absoluteTimeout;
  }

  #close(request: Request, response: Response): void | Promise<void> {
    const opened = this.#opened.get(request);
    if (opened === undefined) return undefined;
    if (opened.authority !== null) addVary(response, "Cookie");
    // The changes of a handler that threw are not stored.
    if (response.status >= 500) return undefined;
    const outcome = opened.session.outcome();
    if (outcome.kind === "new") opened.authority?.leave();
    const kept = this.#keep(outcome);
    const add = (cookie: string | null): void => {
      if (cookie !== null) addCookie(response, cookie);
      if (outcome.kind === "new") opened.authority?.follow((outcome as { token: string }).token);
    };
    return isPromise(kept) ? storeReply(request, kept).then(add) : add(kept);
  }

  /** The Set-Cookie that the client needs; null if its cookie is already right. */
  #keep(outcome: SessionOutcome): string | null | Promise<string | null> {
    const { kind, previous } = outcome;
    if (kind === "nothing") return null;
    if (kind === "ended") {
      const ended = this.#end(previous!);
      const cookie = this.#setCookie("", 0);
      return isPromise(ended) ? asPromise(ended).then(() => cookie) : cookie;
    }
    const now = nowInSeconds();
    if (kind === "same" && now < previous!.active + this.settings.idleTimeout / 10) return null;
    const { kind: _kind, previous: _previous, ...kept } = outcome as Extract<SessionOutcome, { token: string }>;
    const ttl = Math.min(this.settings.idleTimeout, kept.created + this.settings.absoluteTimeout - now);
    const isNew = kind === "new";
    const keep = (): string | Promise<string> => this.#keeper.keep({ ...kept, active: now }, ttl, isNew);
    const cookieOf = (held: string): string => this.#setCookie(held, ttl);
    if (isNew && previous?.owner !== undefined && previous.owner === kept.owner && !this.#keeper.lazy) {
      return this.#continue({ ...kept, active: now }, previous, keep).then((held) => held && cookieOf(held));
    }
    const over = isNew && previous ? this.#end(previous) : undefined;
    // Side by side, because each is a round trip. In a callback, so that an error of one leaves no rejection of the other.
    const value = isPromise(over) ? Promise.all([Promise.resolve().then(keep), over]).then(([held]) => held) : keep();
    const needed = isNew || this.#keeper.lazy || this.settings.persistent;
    const cookie = (held: string): string | null => (needed ? cookieOf(held) : null);
    return isPromise(value) ? (value as Promise<string>).then(cookie) : cookie(value);
  }

  /**
   * Keeps the session of a user under its new id. Returns null if `endSessions` has ended it in between. The new one is kept
   * before the former one ends: a call of another process finds one of them, whenever it looks.
   */
  async #continue(
    session: LoadedSession,
    previous: LoadedSession,
    keep: () => string | Promise<string>,
  ): Promise<string | null> {
    const value = await keep();
    if ((await this.#end(previous)) !== false) return value;
    await this.#end(session);
    return null;
  }

  /** False if it had ended already. */
  #end(session: LoadedSession): unknown {
    const end = (was: unknown): unknown => {
      // A store of the application need not report it.
      if (!this.#open.isEmpty) this.#open.end(sessionId(session.token));
      return was;
    };
    const ended = this.#keeper.end(session);
    return isPromise(ended) ? asPromise(ended).then(end) : end(ended);
  }

  #setCookie(value: string, seconds: number): string {
    const { cookie, cookieName, persistent } = this.settings;
    return serializeCookie(cookieName, value, {
      secure: this.#secure(),
      ...cookie,
      ...((persistent || seconds === 0) && { maxAge: seconds }),
    });
  }
}
