import { SkippedPaths } from "../../auth/skipped-paths.js";
import { httpError } from "../../errors/http-error.js";
import { ValueError } from "../../errors/value-error.js";
import { serializeCookie } from "../../http/cookies.js";
import { isToken } from "../../http/headers.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { addVary } from "../../http/response-fields.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { markSecret } from "../compression/secrets.js";
import { readOrigins } from "../cors/origins.js";
import { addCookie } from "../sessions/add-cookie.js";
import { checkSecrets, secretCheck } from "../sessions/options.js";
import type { Secret } from "../sessions/seal.js";
import type { Sessions } from "../sessions/sessions.js";
import { isFromElsewhere, isSafe } from "./same-site.js";
import { CookieHolder, isGenuine, makeToken, sessionHolder, type TokenHolder } from "./tokens.js";

export interface CsrfOptions {
  /** Other origins whose pages may send requests that change something. */
  readonly trustedOrigins?: readonly string[];
  /** Paths that are not protected, each with what is below it. */
  readonly skipPaths?: readonly string[];
  /** Whether such requests must also bring a token from `request.csrfToken()`. Default false. */
  readonly tokens?: boolean;
  /** Signs tokens; needed with `tokens` where there are no sessions. Of several the first signs and all are accepted. */
  readonly secret?: Secret | readonly Secret[];
  /** The form field of a token. Default "_csrf". */
  readonly field?: string;
  /** The header of a token. Default "X-CSRF-Token". */
  readonly header?: string;
  /** The cookie that a token belongs to where there are no sessions. Default "csrf". */
  readonly cookie?: string;
}

/** Refuses requests that a page of another site made the browser send with the user's cookies. */
export class CsrfProtection {
  readonly #options: Partial<CsrfOptions>;
  readonly #trusted: (origin: string) => unknown;
  readonly #skipped: SkippedPaths;
  #holder: TokenHolder | null = null;
  #secure = false;

  constructor(given: unknown) {
    this.#options = readOptions<CsrfOptions>("enableCsrf", given, checks);
    const { trustedOrigins = [], skipPaths, secret } = this.#options;
    const trusted = readOrigins(trustedOrigins);
    if (trusted === null)
      throw new ValueError("trustedOrigins of enableCsrf takes origins, not '*': that protects nothing");
    this.#trusted = trusted as (origin: string) => unknown;
    this.#skipped = new SkippedPaths("skipPaths of enableCsrf", skipPaths);
    if (secret !== undefined) checkSecrets(secret);
  }

  /** Called at start, when it is known whether there are sessions. */
  middleware(sessions: Sessions | undefined, secure: boolean): Middleware {
    const { tokens = false, secret, cookie = "csrf" } = this.#options;
    if (!tokens) return { ...place, early: true, before: (request) => this.#checkOrigin(request) };
    this.#secure = secure;
    if (sessions) this.#holder = sessionHolder(sessions);
    else if (secret !== undefined) this.#holder = new CookieHolder(checkSecrets(secret), cookie);
    else throw new ValueError("enableCsrf with tokens needs a secret, or enableSessions");
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
    if (isSafe(request.method) || this.#skipped.covers(request.path) || !isFromElsewhere(request)) return;
    const origin = request.source.header("origin");
    if (origin === undefined || this.#trusted(origin) !== true) throw httpError("ORIGIN_NOT_ALLOWED");
  }

  #checkBoth(request: Request, hasBody: boolean): void {
    this.#checkOrigin(request);
    if (isSafe(request.method) || this.#skipped.covers(request.path)) return;
    const signer = this.#holder!.find(request);
    if (signer === null || !isGenuine(signer, this.#given(request, hasBody))) {
      throw httpError("FORBIDDEN", "The request has no valid CSRF token; load the page again.");
    }
  }

  #given(request: Request, hasBody: boolean): unknown {
    const { header = "X-CSRF-Token", field = "_csrf" } = this.#options;
    const token = request.source.header(header.toLowerCase());
    if (token !== undefined || !hasBody) return token;
    const type = request.source.header("content-type") ?? "";
    return formType.test(type) ? request.form().get(field) : undefined;
  }

  #addCookie(request: Request, response: Response): void {
    const holder = this.#holder;
    const value = holder instanceof CookieHolder ? holder.fresh(request) : undefined;
    if (value === undefined) return;
    const { cookie = "csrf" } = this.#options;
    const secure = this.#secure || /^__(?:host|secure)-/i.test(cookie);
    addCookie(response, serializeCookie(cookie, value, { httpOnly: true, sameSite: "lax", secure }));
    addVary(response, "Cookie");
  }
}

const place = { name: "csrf", slot: "csrf" } as const;
const formType = /^[ \t]*(?:application\/x-www-form-urlencoded|multipart\/form-data)[ \t]*(?:;|$)/i;

const checks: Checks<CsrfOptions> = {
  trustedOrigins: is.strings,
  skipPaths: is.strings,
  tokens: is.boolean,
  secret: secretCheck,
  field: is.text,
  header: (value) => (typeof value === "string" && isToken(value) ? undefined : "the name of a header"),
  cookie: (value) => (typeof value === "string" && isToken(value) ? undefined : "the name of a cookie"),
};
