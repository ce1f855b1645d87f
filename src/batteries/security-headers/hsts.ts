import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";

const hstsOptions = options("hsts of enableSecurityHeaders()", {
  /** Time for which browsers use encrypted connections only. Default 365 days. */
  maxAge: option.duration("365d"),
  /** Includes all subdomains. Default true. */
  includeSubDomains: option(is.boolean, true),
  /** Asks to be built into browsers; see hstspreload.org before you do. Default false. */
  preload: option(is.boolean, false),
  /** Also sent on connections that are not encrypted here, as behind a proxy that ends TLS. Default false. */
  always: option(is.boolean, false),
});

export type HstsOptions = OptionsOf<typeof hstsOptions.fields>;

export function strictTransportSecurity(given: HstsOptions | undefined): { value: string; always: boolean } {
  const { maxAge, includeSubDomains, preload, always } = hstsOptions.read([given]);
  const value = `max-age=${Math.round(maxAge)}${includeSubDomains ? "; includeSubDomains" : ""}${preload ? "; preload" : ""}`;
  return { value, always };
}
