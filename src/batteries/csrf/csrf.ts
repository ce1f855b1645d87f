import { httpError } from "../../errors/http-error.js";
import { hostCookieName, serializeCookie } from "../../http/fields/cookies.js";
import { addVary } from "../../http/fields/response-fields.js";
import { isSameHost } from "../../http/peer/host-name.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { ValueError } from "../../kit/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { markSecret } from "../compression/secrets.js";
import { addCookie } from "../sessions/add-cookie.js";
import type { Sessions } from "../sessions/sessions.js";
import type { CsrfSettings } from "./options.js";
import { CookieHolder, isGenuine, makeToken, sessionHolder, type TokenHolder } from "./tokens.js";

/** Refuses requests that a page of another site made the browser send with the user's cookies. */
export class CsrfProtection {
  readonly #settings: CsrfSettings;
  readonly #holder: TokenHolder | null;
  readonly #cookie: string;
  readonly #secure: boolean;

  /** Made at start, when it is known whether there are sessions. */
  constructor(settings: CsrfSettings, sessions: Sessions | null, secure: boolean) {
    this.#settings = settings;
    this.#cookie = settings.cookie ?? hostCookieName("csrf", { secure });
    this.#secure = secure || /^__(?:host|secure)-/i.test(this.#cookie);
    this.#holder = settings.tokens ? holderOf(settings, this.#cookie, sessions) : null;
  }

  get middleware(): Middleware {
    if (!this.#holder) {
      const skips = (path: string): boolean => this.#settings.skipPaths.covers(path);
      return { ...place, early: true, skips, before: (request) => this.#checkOrigin(request) };
    }
    return {
      ...place,
      forRoute: ({ options }) => ({
        early: options["stream"] === true,
        before: (request) => this.#checkBoth(request, options["stream"] !== true),
        after: (request, response) => this.#addCookie(request, response),
      }),
    };
  }

  /** A token for a form or a header of this client's. */
  token(request: Request): string {
    if (!this.#holder) throw new Error("request.csrfToken() needs app.enableCsrf({ tokens: true })");
    request.personal = true;
    markSecret(request);
    return makeToken(this.#holder.make(request));
  }

  #checkOrigin(request: Request): void {
    if (isSafe(request.method) || this.#settings.skipPaths.covers(request.path) || !isFromElsewhere(request)) return;
    const origin = request.source.header("origin");
    if (origin === undefined || this.#settings.trustedOrigins(origin) !== true) throw httpError("ORIGIN_NOT_ALLOWED");
  }

  #checkBoth(request: Request, hasBody: boolean): void {
    this.#checkOrigin(request);
    if (isSafe(request.method) || this.#settings.skipPaths.covers(request.path)) return;
    const signer = this.#holder!.find(request);
    if (signer === null || !isGenuine(signer, this.#given(request, hasBody))) {
      throw httpError("FORBIDDEN", "The request has no valid CSRF token; load the page again.");
    }
  }

  #given(request: Request, hasBody: boolean): unknown {
    const { header, field } = this.#settings;
    const token = request.source.header(header);
    if (token !== undefined || !hasBody) return token;
    const type = request.source.header("content-type") ?? "";
    return formType.test(type) ? request.form().get(field) : undefined;
  }

  #addCookie(request: Request, response: Response): void {
    const holder = this.#holder;
    const value = holder instanceof CookieHolder ? holder.fresh(request) : undefined;
    if (value === undefined) return;
    const options = { httpOnly: true, sameSite: "lax", secure: this.#secure } as const;
    addCookie(response, serializeCookie(this.#cookie, value, options));
    addVary(response, "Cookie");
  }
}

function holderOf({ secret }: CsrfSettings, cookie: string, sessions: Sessions | null): TokenHolder {
  if (sessions) return sessionHolder(sessions);
  if (secret) return new CookieHolder(secret, cookie);
  throw new ValueError("enableCsrf with tokens needs a secret, or enableSessions");
}

const place = { name: "csrf", slot: "csrf" } as const;
const formType = /^[ \t]*(?:application\/x-www-form-urlencoded|multipart\/form-data)[ \t]*(?:;|$)/i;

/** Methods that change nothing (RFC 9110 section 9.2.1). */
function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE";
}

/**
 * True if a page of another origin made the browser send this request. Browsers send Sec-Fetch-Site on HTTPS and
 * localhost, and Origin everywhere; a page can change neither. A client that sends neither of the two is no browser,
 * and has no cookies but its own.
 */
function isFromElsewhere(request: Request): boolean {
  const site = request.source.header("sec-fetch-site");
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const origin = request.source.header("origin");
  return origin !== undefined && !isSameHost(origin, request.url);
}
