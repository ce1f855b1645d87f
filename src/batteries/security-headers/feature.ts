import { feature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type SecurityHeadersOptions, securityHeaders } from "./security-headers.js";

export interface SecurityHeadersFeature {
  /** Adds headers that protect users in their browser: content security policy, no sniffing, no framing, HSTS. */
  enableSecurityHeaders(options?: EitherSpelling<SecurityHeadersOptions>): this;
}

export const securityHeadersFeature = feature<SecurityHeadersFeature>({
  name: "security headers",
  setup: { enableSecurityHeaders: (_host, ...given) => securityHeaders(given) },
});
