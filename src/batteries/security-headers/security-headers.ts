import { isFieldValue } from "../../http/fields/headers.js";
import { setMissingField } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";

const sendable: Check<string> = (given) =>
  typeof given === "string" && given.trim() !== "" && isFieldValue(given)
    ? undefined
    : "a string that can be sent in a header";

const value = is.either(is.oneOf(false), sendable);

/** Each option is a value to send, or false to send none. Fields that a handler sets itself are kept. */
export const securityHeadersOptions = options(
  "enableSecurityHeaders()",
  {
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
  },
  {
    idle: ({ contentSecurityPolicy }) => ({
      contentSecurityPolicyReportOnly: contentSecurityPolicy === false && "contentSecurityPolicy is false",
    }),
  },
);

export interface SecurityHeadersOptions extends OptionsOf<typeof securityHeadersOptions.fields> {}
export type SecurityHeadersSettings = SettingsOf<typeof securityHeadersOptions.fields>;

/** Adds the fields that make browsers handle responses carefully. */
export function securityHeaders(given: SecurityHeadersSettings): Middleware {
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

/** Sentences on options that have no effect. */
export function securityDoubts(settings: SecurityHeadersSettings | null): readonly string[] {
  const hsts = settings?.hsts ? hstsOptions.read([settings.hsts]) : null;
  return [...securityHeadersOptions.idle(settings), ...hstsOptions.idle(hsts)];
}

/** Encrypted here, or at a proxy that is trusted. */
function isSecure(request: Request): boolean {
  return request.source.secure || (request.host?.originOf?.(request).startsWith("https:") ?? false);
}

/** Directives by name with their sources: `{ "default-src": ["'self'"], "img-src": "*" }`; false leaves one out. */
type PolicyDirectives = Readonly<Record<string, string | readonly string[] | false>>;

const standard: PolicyDirectives = {
  "default-src": ["'self'"],
  "base-uri": ["'self'"],
  "form-action": ["'self'"],
  "frame-ancestors": ["'self'"],
  "img-src": ["'self'", "data:"],
  "object-src": ["'none'"],
};

/** The value of the field. Directives given one by one stand beside or in place of the standard ones. */
function contentSecurityPolicy(given: string | PolicyDirectives | false | undefined): string | false {
  if (typeof given === "string" || given === false) return given;
  const directives = { ...standard, ...given };
  return Object.entries(directives)
    .filter(([, sources]) => sources !== false)
    .map(([name, sources]) => directive(name, sources as string | readonly string[]))
    .join("; ");
}

function directive(name: string, sources: string | readonly string[]): string {
  const list = Array.isArray(sources) ? sources : [sources];
  const sound = list.every((source) => typeof source === "string" && /^[\x21-\x2b\x2d-\x3a\x3c-\x7e ]*$/.test(source));
  if (!/^[a-z-]+$/.test(name) || !sound) {
    throw new ValueError(
      `contentSecurityPolicy of enableSecurityHeaders() takes names of directives with a list of sources, not ${show(name)}: ${show(sources)}`,
    );
  }
  return [name, ...list].filter((part) => part !== "").join(" ");
}

const oneYear = 31_536_000;

export const hstsOptions = options(
  "hsts of enableSecurityHeaders()",
  {
    /** Time for which browsers use encrypted connections only. Default 365 days. */
    maxAge: option.duration("365d"),
    /** Includes all subdomains. Default true. */
    includeSubDomains: option(is.boolean, true),
    /** Asks to be built into browsers; see hstspreload.org before you do. Default false. */
    preload: option(is.boolean, false),
    /** Also sent on connections that are not encrypted here, as behind a proxy that ends TLS. Default false. */
    always: option(is.boolean, false),
  },
  {
    idle: ({ includeSubDomains, maxAge }) => ({
      preload:
        (!includeSubDomains || maxAge < oneYear) &&
        "lists of browsers need includeSubDomains and a maxAge of at least 365 days",
    }),
  },
);

interface HstsOptions extends OptionsOf<typeof hstsOptions.fields> {}

function strictTransportSecurity(given: HstsOptions | undefined): { value: string; always: boolean } {
  const { maxAge, includeSubDomains, preload, always } = hstsOptions.read([given]);
  const value = `max-age=${Math.round(maxAge)}${includeSubDomains ? "; includeSubDomains" : ""}${preload ? "; preload" : ""}`;
  return { value, always };
}
