import { SkippedPaths } from "../../auth/skipped-paths.js";
import { isHeaderName, isToken } from "../../http/fields/headers.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { type OriginFunction, readOrigins } from "../cors/origins.js";
import { checkSecrets, secretCheck } from "../sessions/options.js";
import type { Secret } from "../sessions/seal.js";

const withTokens = "set tokens: true to check tokens";

export const csrfOptions = options(
  "enableCsrf()",
  {
    /** Other origins whose pages may send requests that change something. */
    trustedOrigins: option.made(is.strings, readTrusted, readTrusted([])),
    /** Paths that are not protected, each with everything below it. */
    skipPaths: option.made(is.strings, readSkipped, readSkipped([])),
    /** Requires a token from `request.csrfToken()` too. Default false. */
    tokens: option(is.boolean, false),
    /** Signs tokens; needed with `tokens` where there are no sessions. Of several the first signs and all are accepted. */
    secret: option.secret<Secret | readonly Secret[], readonly Secret[]>((value) => secretCheck(value), checkSecrets),
    /** The form field of a token. Default "_csrf". */
    field: option(is.text, "_csrf"),
    /** The header of a token. Default "X-CSRF-Token". */
    header: option.made(isHeaderName, (name) => name.toLowerCase(), "x-csrf-token", '"X-CSRF-Token"'),
    /** The cookie that a token belongs to where there are no sessions. Default "__Host-csrf" where it is Secure, else "csrf". */
    cookie: option<string>((value) =>
      typeof value === "string" && isToken(value) ? undefined : "the name of a cookie",
    ),
  },
  {
    idle: ({ tokens }) => ({
      secret: !tokens && withTokens,
      field: !tokens && withTokens,
      header: !tokens && withTokens,
      cookie: !tokens && withTokens,
    }),
  },
);

export interface CsrfOptions extends OptionsOf<typeof csrfOptions.fields> {}
export type CsrfSettings = SettingsOf<typeof csrfOptions.fields>;

function readTrusted(origins: readonly string[]): (origin: string) => unknown {
  const trusts: OriginFunction | null = readOrigins(origins);
  if (trusts === null)
    throw new ValueError("trustedOrigins of enableCsrf takes origins, not '*': that protects nothing");
  return trusts as (origin: string) => unknown;
}

function readSkipped(paths: readonly string[]): SkippedPaths {
  return new SkippedPaths("skipPaths of enableCsrf", paths);
}
