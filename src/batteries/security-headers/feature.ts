import { type FeatureMethods, replaceFeature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type SecurityHeadersOptions, securityHeaders } from "./security-headers.js";

export interface SecurityHeadersFeature {
  /** Tells browsers to be careful: a content security policy, no sniffing, no foreign frames, HSTS and the like. */
  enableSecurityHeaders(options?: EitherSpelling<SecurityHeadersOptions>): this;
}

export const securityHeadersFeature: FeatureMethods<SecurityHeadersFeature> = {
  enableSecurityHeaders(options) {
    replaceFeature(this, securityHeadersFeature, securityHeaders(options));
    return this;
  },
};
