import type { JwtConfig } from "./config.js";

declare module "../../http/request.js" {
  interface RequestContext {
    /** The claims of the token, set by `JwtAuth`. */
    jwt_claims?: JwtClaims;
  }
}

/**
 * The claims of a token. The registered names (RFC 7519 section 4.1) are typed; the issuer may add others. Merge into this
 * interface to declare them.
 */
export interface JwtClaims {
  readonly sub?: string;
  readonly iss?: string;
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly nbf?: number;
  readonly iat?: number;
  readonly jti?: string;
  readonly [claim: string]: unknown;
}

/** Seconds by which an issuer's clock may be ahead: `iat` gives the age of a token, not the start of its validity. */
const clockSkew = 60;

/** The times of a token whose other claims have been accepted. */
export interface Times {
  readonly exp: number;
  readonly nbf: number;
  readonly iat: number;
}

/** The times of a token, which are checked at each use; null if a claim is never acceptable. */
export function acceptClaims(claims: JwtClaims, config: JwtConfig): Times | null {
  const exp = claims.exp;
  const nbf = timeOrNone(claims.nbf);
  const iat = timeOrNone(claims.iat);
  if (!isTime(exp) || nbf === null || iat === null) return null;
  if (config.issuer.length > 0 && !config.issuer.includes(claims.iss as string)) return null;
  if (config.audience.length > 0 && !isMeantFor(claims.aud, config.audience)) return null;
  return { exp, nbf, iat };
}

/** `now` and `leeway` in seconds. */
export function isTimely({ exp, nbf, iat }: Times, now: number, leeway: number): boolean {
  return now < exp + leeway && nbf <= now + leeway && iat <= now + leeway + clockSkew;
}

/** Seconds since 1970, fractions allowed (RFC 7519 section 2). */
function isTime(value: unknown): value is number {
  return Number.isFinite(value);
}

function timeOrNone(value: unknown): number | null {
  if (value === undefined) return Number.NEGATIVE_INFINITY;
  return isTime(value) ? value : null;
}

function isMeantFor(aud: unknown, audience: readonly string[]): boolean {
  return Array.isArray(aud) ? aud.some((item) => audience.includes(item)) : audience.includes(aud as string);
}
