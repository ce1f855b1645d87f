import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import {
  type SecurityHeadersOptions,
  type SecurityHeadersSettings,
  securityDoubts,
  securityHeaders,
  securityHeadersOptions,
} from "./security-headers.js";

export interface SecurityHeadersFeature {
  /** Adds headers that protect users in their browser: content security policy, no sniffing, no framing, HSTS. */
  enableSecurityHeaders(options?: EitherSpelling<SecurityHeadersOptions>): this;
}

const stateOf = perHost((): { settings: SecurityHeadersSettings | null } => ({ settings: null }));

export const securityHeadersFeature = feature<SecurityHeadersFeature>({
  name: "security headers",
  setup: {
    enableSecurityHeaders(host, ...given) {
      const settings = securityHeadersOptions.read(given);
      stateOf(host).settings = settings;
      return securityHeaders(settings);
    },
  },
  review: (host) => securityDoubts(stateOf(host).settings),
});
