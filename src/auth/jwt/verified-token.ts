import { nodeCrypto } from "../../internal/node-modules.js";
import type { JwtClaims, Times } from "./claims.js";

/** A token whose signature and claims have been accepted; whether it is in time and not revoked is asked each time. */
export interface VerifiedToken {
  readonly claims: JwtClaims;
  readonly times: Times;
  /** By which it is revoked. */
  readonly id: string;
}

/**
 * Verified tokens by header and payload, so that the same token is not verified again and again. The signature is what
 * makes a token one, and it is compared in constant time here too. Only tokens with a valid signature get in, so that
 * nobody without one can push others out.
 */
export class TokenMemory {
  readonly #entries = new Map<string, { readonly signature: Buffer; readonly token: VerifiedToken }>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(input: string, signature: string): VerifiedToken | null {
    const entry = this.#entries.get(input);
    if (entry === undefined) return null;
    const given = Buffer.from(signature);
    return given.length === entry.signature.length && nodeCrypto().timingSafeEqual(given, entry.signature)
      ? entry.token
      : null;
  }

  add(input: string, signature: string, token: VerifiedToken): void {
    if (this.#limit === 0) return;
    if (this.#entries.size >= this.#limit) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(detached(input), { signature: Buffer.from(signature), token });
  }

  delete(input: string): void {
    this.#entries.delete(input);
  }
}

/** A copy that stands for itself: a slice of a header would keep the whole head of its request in memory. */
export function detached(text: string): string {
  return Buffer.from(text).toString();
}

/** The token's own id, or one made of what is signed: a signature can sometimes be written in another way. */
export function revocationId(claims: JwtClaims, input: string): string {
  return typeof claims.jti === "string" && claims.jti !== ""
    ? claims.jti
    : `sha256:${nodeCrypto().createHash("sha256").update(input).digest("base64url")}`;
}
