import type { NamedJsonWebKey } from "./json-web-key.js";
import type { SigningKey, VerificationKey } from "./keys.js";

/** A JSON Web Key Set (RFC 7517 section 5). */
export interface Jwks {
  readonly keys: readonly NamedJsonWebKey[];
}

/** The keys of one configuration. A token chooses among them by `kid`, and brings none itself. */
export interface KeyRing {
  /** The key for a token's `kid`; null when there is none. */
  find(kid: unknown): VerificationKey | null;
  /** Null where tokens can be verified but not made. */
  readonly signing: SigningKey | null;
  /** Changes when the keys change. Undefined if they never do. */
  readonly version?: number;
  /** False if there are no keys at the moment. Undefined if there always are. */
  readonly available?: boolean;
  /** Begins to load the keys again if they are old. */
  keepFresh?(): void;
  /** Loads the keys again because the one for this `kid` is missing. Null if that is of no use now. */
  missing?(kid: unknown): Promise<void> | null;
}
