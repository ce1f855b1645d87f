import { type Checks, is, readOptions } from "../../internal/options.js";

/** Time for which browsers use encrypted connections only. */
export interface HstsOptions {
  /** Seconds. Default 31536000, a year. */
  readonly maxAge?: number;
  /** Default true. */
  readonly includeSubDomains?: boolean;
  /** Asks to be built into browsers; see hstspreload.org before you do. Default false. */
  readonly preload?: boolean;
  /** Also sent on connections that are not encrypted here, as behind a proxy that ends TLS. Default false. */
  readonly always?: boolean;
}

const checks: Checks<HstsOptions> = {
  maxAge: is.integer(0),
  includeSubDomains: is.boolean,
  preload: is.boolean,
  always: is.boolean,
};

export function strictTransportSecurity(options: HstsOptions | undefined): { value: string; always: boolean } {
  const given = readOptions<HstsOptions>("hsts of enableSecurityHeaders()", options, checks);
  const { maxAge = 31_536_000, includeSubDomains = true, preload = false, always = false } = given;
  const value = `max-age=${maxAge}${includeSubDomains ? "; includeSubDomains" : ""}${preload ? "; preload" : ""}`;
  return { value, always };
}
