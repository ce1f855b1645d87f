import { serializeCookie } from "../../http/cookies.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { addVary } from "../../http/response-fields.js";
import { asPromise, isPromise } from "../../internal/is-promise.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { addCookie } from "./add-cookie.js";
import { cookieKeeper, type SessionKeeper, storeKeeper } from "./keepers.js";
import type { SessionSettings } from "./options.js";
import { type LoadedSession, nowInSeconds, Session, type SessionOutcome } from "./session.js";

interface Opened {
  readonly session: Session;
  /** True if the session was used. */
  used: boolean;
}

/** Finds the session of a request and stores its changes. */
export class Sessions {
  readonly settings: SessionSettings;
  readonly #keeper: SessionKeeper;
  readonly #secure: () => boolean;
  readonly #opened = new WeakMap<Request, Opened>();

  /** `secure` returns true if the cookie is for HTTPS alone; used if the options do not set it. */
  constructor(settings: SessionSettings, secure: () => boolean) {
    this.settings = settings;
    this.#keeper = settings.store ? storeKeeper(settings.store) : cookieKeeper(settings);
    this.#secure = secure;
  }

  get middleware(): Middleware {
    return {
      name: "sessions",
      slot: "session",
      early: true,
      before: (request: Request) => {
        request.strictJson = true;
        return this.#keeper.lazy ? undefined : this.#open(request);
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
    opened.used = true;
    return opened.session;
  }

  #open(request: Request): void | Promise<void> {
    const cookie = this.#cookie(request);
    if (cookie === undefined) return undefined;
    const loaded = this.#keeper.load(cookie);
    if (isPromise(loaded)) return loaded.then((value) => void this.#remember(request, value));
    this.#remember(request, loaded);
    return undefined;
  }

  #cookie(request: Request): string | undefined {
    const { cookieName } = this.settings;
    // Most requests of most applications come without one.
    return request.source.header("cookie")?.includes(cookieName) ? request.cookies.get(cookieName) : undefined;
  }

  #remember(request: Request, loaded: LoadedSession | null): Opened {
    const opened = { session: new Session(loaded && this.#isAlive(loaded) ? loaded : null), used: false };
    this.#opened.set(request, opened);
    return opened;
  }

  #isAlive({ created, active }: LoadedSession): boolean {
    const now = nowInSeconds();
    return now < active + this.settings.idleTimeout && now < created + this.settings.absoluteTimeout;
  }

  #close(request: Request, response: Response): void | Promise<void> {
    const opened = this.#opened.get(request);
    if (opened === undefined) return undefined;
    if (opened.used) addVary(response, "Cookie");
    // The changes of a handler that threw are not stored.
    if (response.status >= 500) return undefined;
    const kept = this.#keep(opened.session.outcome());
    const add = (cookie: string | null): void => {
      if (cookie !== null) addCookie(response, cookie);
    };
    return isPromise(kept) ? (kept as Promise<string | null>).then(add) : add(kept);
  }

  /** The Set-Cookie that the client needs; null if its cookie is already right. */
  #keep(outcome: SessionOutcome): string | null | Promise<string | null> {
    const { kind, previous } = outcome;
    if (kind === "nothing") return null;
    if (kind === "ended") {
      const ended = this.#keeper.end(previous!);
      const cookie = this.#setCookie("", 0);
      return isPromise(ended) ? asPromise(ended).then(() => cookie) : cookie;
    }
    const now = nowInSeconds();
    if (kind === "same" && now < previous!.active + this.settings.idleTimeout / 10) return null;
    const { token, created, data } = outcome as Extract<SessionOutcome, { token: string }>;
    const ttl = Math.min(this.settings.idleTimeout, created + this.settings.absoluteTimeout - now);
    const isNew = kind === "new";
    const keep = (): string | Promise<string> => this.#keeper.keep({ token, created, active: now, data }, ttl, isNew);
    const over = isNew && previous ? this.#keeper.end(previous) : undefined;
    const value = isPromise(over) ? asPromise(over).then(keep) : keep();
    const needed = isNew || this.#keeper.lazy || this.settings.persistent;
    const cookie = (held: string): string | null => (needed ? this.#setCookie(held, ttl) : null);
    return isPromise(value) ? (value as Promise<string>).then(cookie) : cookie(value);
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
