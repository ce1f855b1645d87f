import { isFieldValue } from "../../http/headers.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { setMissingField } from "../../http/response-fields.js";
import { type Check, type Checks, is, readOptions } from "../../internal/options.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { contentSecurityPolicy, type PolicyDirectives } from "./content-security-policy.js";
import { type HstsOptions, strictTransportSecurity } from "./hsts.js";

/** Each option is a value to send, or false to send none. Fields that a handler sets itself are kept. */
export interface SecurityHeadersOptions {
  /** Default: the page's own origin only, images also from `data:`, no plugins, no foreign frames. */
  readonly contentSecurityPolicy?: string | PolicyDirectives | false;
  /** Reports violations of the policy, but refuses nothing. Default false. */
  readonly contentSecurityPolicyReportOnly?: boolean;
  /** Default "same-origin". */
  readonly crossOriginOpenerPolicy?: string | false;
  /** Default "same-origin". */
  readonly crossOriginResourcePolicy?: string | false;
  /** Default: none. */
  readonly crossOriginEmbedderPolicy?: string | false;
  /** Default: none. */
  readonly permissionsPolicy?: string | false;
  /** Default "no-referrer". */
  readonly referrerPolicy?: string | false;
  /** Strict-Transport-Security. Default: a year with subdomains, on encrypted connections. */
  readonly hsts?: HstsOptions | false;
  /** X-Content-Type-Options. Default "nosniff". */
  readonly contentTypeOptions?: "nosniff" | false;
  /** X-Frame-Options, for browsers that do not know `frame-ancestors`. Default "SAMEORIGIN". */
  readonly frameOptions?: "DENY" | "SAMEORIGIN" | false;
}

const value: Check = is.either(is.oneOf(false), sendable);

const checks: Checks<SecurityHeadersOptions> = {
  contentSecurityPolicy: is.either(value, is.object),
  contentSecurityPolicyReportOnly: is.boolean,
  crossOriginOpenerPolicy: value,
  crossOriginResourcePolicy: value,
  crossOriginEmbedderPolicy: value,
  permissionsPolicy: value,
  referrerPolicy: value,
  hsts: is.either(is.oneOf(false), is.object),
  contentTypeOptions: is.oneOf("nosniff", false),
  frameOptions: is.oneOf("DENY", "SAMEORIGIN", false),
};

/** Adds the fields that make browsers handle responses carefully. */
export function securityHeaders(options: unknown): Middleware {
  const given = readOptions<SecurityHeadersOptions>("enableSecurityHeaders()", options, checks);
  const fields: string[] = [];
  const add = (name: string, chosen: string | false | undefined, fallback: string | false): void => {
    const text = chosen ?? fallback;
    if (text !== false) fields.push(name, text);
  };
  const policyName = `Content-Security-Policy${given.contentSecurityPolicyReportOnly ? "-Report-Only" : ""}`;
  add(policyName, contentSecurityPolicy(given.contentSecurityPolicy), false);
  add("Cross-Origin-Opener-Policy", given.crossOriginOpenerPolicy, "same-origin");
  add("Cross-Origin-Resource-Policy", given.crossOriginResourcePolicy, "same-origin");
  add("Cross-Origin-Embedder-Policy", given.crossOriginEmbedderPolicy, false);
  add("Permissions-Policy", given.permissionsPolicy, false);
  add("Referrer-Policy", given.referrerPolicy, "no-referrer");
  add("X-Content-Type-Options", given.contentTypeOptions, "nosniff");
  add("X-Frame-Options", given.frameOptions, "SAMEORIGIN");
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

function sendable(given: unknown): string | undefined {
  const sound = typeof given === "string" && given.trim() !== "" && isFieldValue(given);
  return sound ? undefined : "a string that can be sent in a header";
}
