import { isFieldValue } from "../../http/fields/headers.js";
import { setMissingField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is } from "../../kit/options.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { contentSecurityPolicy, type PolicyDirectives } from "./content-security-policy.js";
import { type HstsOptions, strictTransportSecurity } from "./hsts.js";

const sendable: Check<string> = (given) =>
  typeof given === "string" && given.trim() !== "" && isFieldValue(given)
    ? undefined
    : "a string that can be sent in a header";

const value = is.either(is.oneOf(false), sendable);

/** Each option is a value to send, or false to send none. Fields that a handler sets itself are kept. */
export const securityHeadersOptions = options("enableSecurityHeaders()", {
  /** Default: the page's own origin only, images also from `data:`, no plugins, no foreign frames. */
  contentSecurityPolicy: option<string | PolicyDirectives | false>(is.either(value, is.object)),
  /** Reports violations of the policy, but refuses nothing. Default false. */
  contentSecurityPolicyReportOnly: option(is.boolean, false),
  /** Default "same-origin". */
  crossOriginOpenerPolicy: option(value, "same-origin"),
  /** Default "same-origin". */
  crossOriginResourcePolicy: option(value, "same-origin"),
  /** Default: none. */
  crossOriginEmbedderPolicy: option(value, false, "none"),
  /** Default: none. */
  permissionsPolicy: option(value, false, "none"),
  /** Default "no-referrer". */
  referrerPolicy: option(value, "no-referrer"),
  /** Strict-Transport-Security. Default: a year with subdomains, on encrypted connections. */
  hsts: option<EitherSpelling<HstsOptions> | false>(is.either(is.oneOf(false), is.object)),
  /** X-Content-Type-Options. Default "nosniff". */
  contentTypeOptions: option(is.oneOf("nosniff", false), "nosniff"),
  /** X-Frame-Options, for browsers that do not know `frame-ancestors`. Default "SAMEORIGIN". */
  frameOptions: option(is.oneOf("DENY", "SAMEORIGIN", false), "SAMEORIGIN"),
});

export type SecurityHeadersOptions = OptionsOf<typeof securityHeadersOptions.fields>;

/** Adds the fields that make browsers handle responses carefully. */
export function securityHeaders(args: readonly unknown[]): Middleware {
  const given = securityHeadersOptions.read(args);
  const sent: readonly [name: string, value: string | false][] = [
    [
      `Content-Security-Policy${given.contentSecurityPolicyReportOnly ? "-Report-Only" : ""}`,
      contentSecurityPolicy(given.contentSecurityPolicy),
    ],
    ["Cross-Origin-Opener-Policy", given.crossOriginOpenerPolicy],
    ["Cross-Origin-Resource-Policy", given.crossOriginResourcePolicy],
    ["Cross-Origin-Embedder-Policy", given.crossOriginEmbedderPolicy],
    ["Permissions-Policy", given.permissionsPolicy],
    ["Referrer-Policy", given.referrerPolicy],
    ["X-Content-Type-Options", given.contentTypeOptions],
    ["X-Frame-Options", given.frameOptions],
  ];
  const fields = sent.flatMap(([name, text]) => (text === false ? [] : [name, text]));
  const hsts = given.hsts === false ? null : strictTransportSecurity(given.hsts);

  return {
    name: "security-headers",
    slot: "security-headers",
    early: true,
    after(request: Request, response: Response) {
      if (response.fields === null) response.fields = [...fields];
      else for (let i = 0; i < fields.length; i += 2) setMissingField(response, fields[i]!, fields[i + 1]!);
      // RFC 6797 section 7.2: not over a connection that is not secure.
      if (hsts !== null && (hsts.always || isSecure(request))) {
        setMissingField(response, "Strict-Transport-Security", hsts.value);
      }
    },
  };
}

/** Encrypted here, or at a proxy that is trusted. */
function isSecure(request: Request): boolean {
  return request.source.secure || (request.host?.originOf?.(request).startsWith("https:") ?? false);
}
