import { SkippedPaths } from "../../auth/skipped-paths.js";
import { isToken } from "../../http/headers.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { readOrigins } from "../cors/origins.js";
import { checkSecrets, secretCheck } from "../sessions/options.js";
import type { Secret } from "../sessions/seal.js";

export interface CsrfOptions {
  /** Other origins whose pages may send requests that change something. */
  readonly trustedOrigins?: readonly string[];
  /** Paths that are not protected, each with everything below it. */
  readonly skipPaths?: readonly string[];
  /** Requires a token from `request.csrfToken()` too. Default false. */
  readonly tokens?: boolean;
  /** Signs tokens; needed with `tokens` where there are no sessions. Of several the first signs and all are accepted. */
  readonly secret?: Secret | readonly Secret[];
  /** The form field of a token. Default "_csrf". */
  readonly field?: string;
  /** The header of a token. Default "X-CSRF-Token". */
  readonly header?: string;
  /** The cookie that a token belongs to where there are no sessions. Default "__Host-csrf" where it is Secure, else "csrf". */
  readonly cookie?: string;
}

/** The options with their defaults. */
export interface CsrfSettings {
  readonly trusts: (origin: string) => unknown;
  readonly skipped: SkippedPaths;
  readonly tokens: boolean;
  /** Null when none is given. */
  readonly secrets: readonly Secret[] | null;
  readonly field: string;
  /** In lower case. */
  readonly header: string;
  /** Null for the default, which only the start knows. */
  readonly cookie: string | null;
}

export function csrfSettings(given: unknown): CsrfSettings {
  const options = readOptions<CsrfOptions>("enableCsrf", given, checks);
  const { trustedOrigins = [], skipPaths, secret, header = "X-CSRF-Token" } = options;
  const trusts = readOrigins(trustedOrigins);
  if (trusts === null)
    throw new ValueError("trustedOrigins of enableCsrf takes origins, not '*': that protects nothing");
  return {
    trusts: trusts as (origin: string) => unknown,
    skipped: new SkippedPaths("skipPaths of enableCsrf", skipPaths),
    tokens: options.tokens ?? false,
    secrets: secret === undefined ? null : checkSecrets(secret),
    field: options.field ?? "_csrf",
    header: header.toLowerCase(),
    cookie: options.cookie ?? null,
  };
}

const checks: Checks<CsrfOptions> = {
  trustedOrigins: is.strings,
  skipPaths: is.strings,
  tokens: is.boolean,
  secret: secretCheck,
  field: is.text,
  header: (value) => (typeof value === "string" && isToken(value) ? undefined : "the name of a header"),
  cookie: (value) => (typeof value === "string" && isToken(value) ? undefined : "the name of a cookie"),
};
