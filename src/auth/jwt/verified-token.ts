import type { Authority } from "../../http/authority.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import type { JwtClaims, Times } from "./claims.js";

/** A token whose signature and claims have been accepted. Its times and its revocation are checked at each use. */
export interface VerifiedToken {
  readonly claims: JwtClaims;
  readonly times: Times;
  /** The id for revocation. */
  readonly id: string;
  /** The id for the revocation of all tokens of its subject; null without one. */
  readonly subject: string | null;
  /** For requests that outlive the token; made with the first request, for all of them. */
  authority: Authority | null;
}

/**
 * A cache of verified tokens by header and payload, so that the same token is not verified again. The signature is
 * compared in constant time here too. Only tokens with a valid signature are cached, so that clients without one cannot
 * evict others.
 */
export class TokenMemory {
  readonly #entries = new Map<string, { readonly signature: Buffer; readonly token: VerifiedToken }>();

  constructor(private readonly limit: number) {}

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
    if (this.limit === 0) return;
    if (this.#entries.size >= this.limit) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(detached(input), { signature: Buffer.from(signature), token });
  }

  clear(): void {
    this.#entries.clear();
  }

  delete(input: string): void {
    this.#entries.delete(input);
  }
}

/** The claim with the id of the first token of those that were refreshed one from the other. */
export const familyClaim = "token_family";

/** The id of the first token. */
export function familyOf({ claims, id }: VerifiedToken): string {
  return typeof claims[familyClaim] === "string" ? claims[familyClaim] : id;
}

/** The id for the revocation of all tokens of a family. */
export function familyId(token: VerifiedToken): string {
  return `family:${familyOf(token)}`;
}

/** The id for the revocation of all tokens of a subject. */
export function subjectId(subject: string): string {
  return `subject:${subject}`;
}

/** A copy with its own memory: a slice of a header would keep the whole head of its request in memory. */
export function detached(text: string): string {
  return Buffer.from(text).toString();
}

/** The token's own id, or one derived from the signed text: some signatures have more than one valid encoding. */
export function revocationId(claims: JwtClaims, input: string): string {
  return typeof claims.jti === "string" && claims.jti !== ""
    ? claims.jti
    : `sha256:${nodeCrypto().createHash("sha256").update(input).digest("base64url")}`;
}
