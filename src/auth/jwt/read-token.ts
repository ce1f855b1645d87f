import { parseJson } from "../../http/json/json.js";
import { isPlainObject } from "../../kit/options.js";
import { acceptClaims, type JwtClaims } from "./claims.js";
import { type JwtConfig, mediaType } from "./config.js";
import type { VerificationKey } from "./keys.js";
import { detached, revocationId, subjectId, TokenMemory, type VerifiedToken } from "./verified-token.js";

/** The largest number of characters in a token; longer ones are refused unread. */
const maxLength = 8192;
/** The number of cached headers. An issuer has one per key. */
const maxHeaders = 64;
const base64url = /^[\w-]+$/;

/** Reads tokens of one configuration. Any invalid token gives null. */
export class TokenReader {
  readonly #config: JwtConfig;
  readonly #memory: TokenMemory;
  /** Headers of tokens that were verified, with the key they lead to. */
  readonly #headers = new Map<string, VerificationKey>();

  #version: number | undefined;

  constructor(config: JwtConfig) {
    this.#config = config;
    this.#version = config.keys.version;
    this.#memory = new TokenMemory(config.cache);
  }

  /** The token if its signature and claims are valid. Its times and its revocation are not checked here. */
  read(token: string): VerifiedToken | null {
    if (token.length > maxLength) return null;
    const first = token.indexOf(".");
    const last = token.lastIndexOf(".");
    if (first <= 0 || last <= first + 1 || token.indexOf(".", first + 1) !== last) return null;
    this.#followKeys();
    const input = token.slice(0, last);
    const signature = token.slice(last + 1);
    return this.#memory.find(input, signature) ?? this.#verify(input, signature, first);
  }

  /** Loads the key that a token names if it is not known, where keys can be loaded. Null if that is of no use. */
  missingKey(token: string): Promise<void> | null {
    const { keys } = this.#config;
    if (keys.missing === undefined || token.length > maxLength) return null;
    const header = this.#acceptedHeader(token.slice(0, token.indexOf(".")));
    return header && keys.missing(header["kid"]);
  }

  /** Removes a token from the cache. */
  forget(token: string): void {
    this.#memory.delete(token.slice(0, token.lastIndexOf(".")));
  }

  #verify(input: string, signature: string, dot: number): VerifiedToken | null {
    const header = input.slice(0, dot);
    const known = this.#headers.get(header);
    const key = known ?? this.#keyFor(header);
    if (key === null || !key.verifies(input, signature)) return null;
    if (known === undefined) this.#remember(header, key);
    const claims = decode(input.slice(dot + 1)) as JwtClaims | null;
    const times = claims && acceptClaims(claims, this.#config);
    if (claims === null || times === null) return null;
    const subject = typeof claims.sub === "string" ? subjectId(claims.sub) : null;
    const token = { claims: frozen(claims), times, id: revocationId(claims, input), subject, authority: null };
    this.#memory.add(input, signature, token);
    return token;
  }

  /**
   * The key for a token with this header. Keys in the header (`jwk`, `jku`, `x5c`, `x5u`) are ignored: `kid` may only
   * choose among the configured keys. Tokens with extensions that must be understood (`crit`, and `b64` of RFC 7797)
   * are refused.
   */
  #keyFor(segment: string): VerificationKey | null {
    const header = this.#acceptedHeader(segment);
    return header && this.#config.keys.find(header["kid"]);
  }

  #acceptedHeader(segment: string): Record<string, unknown> | null {
    const header = decode(segment);
    if (header === null || header["alg"] !== this.#config.algorithm) return null;
    if (header["crit"] !== undefined || header["b64"] !== undefined) return null;
    const { typ, kid } = header;
    if (typ === undefined ? this.#config.type !== undefined : !this.#accepts(typ)) return null;
    return kid === undefined || typeof kid === "string" ? header : null;
  }

  /** Forgets everything that keys have verified when they are replaced, or too old. */
  #followKeys(): void {
    const { keys } = this.#config;
    if (keys.version === undefined) return;
    keys.keepFresh?.();
    const { version, available } = keys;
    if (version === this.#version && available !== false) return;
    this.#version = version;
    this.#headers.clear();
    this.#memory.clear();
  }

  #accepts(typ: unknown): boolean {
    return typeof typ === "string" && mediaType(typ) === (this.#config.type ?? "jwt");
  }

  #remember(header: string, key: VerificationKey): void {
    if (this.#headers.size >= maxHeaders) this.#headers.clear();
    this.#headers.set(detached(header), key);
  }
}

/** A JSON object in base64url; null when it is anything else. */
function decode(segment: string): Record<string, unknown> | null {
  if (!base64url.test(segment)) return null;
  try {
    const value = parseJson(Buffer.from(segment, "base64url"));
    return isPlainObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Frozen, so that a request cannot change the claims for the next request with the same token. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}
