import type { ConfigOf } from "../../internal/config-of.js";
import { addSnakeNames, type EitherSpelling, type SnakeMembers } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { type Algorithm, algorithms, type JwtAlgorithm } from "./algorithms.js";
import { type KeyRing, type KeySources, keyRing } from "./key-ring.js";
import type { RevocationStore } from "./revocations.js";

export interface JwtOptions extends KeySources {
  /** For HS256, HS384 and HS512: at least 32 random bytes. */
  readonly secret?: string | Uint8Array;
  /** The one algorithm that is accepted. Default HS256 when a secret is given. */
  readonly algorithm?: JwtAlgorithm;
  /** Seconds that tokens made here are valid. Default 3600. */
  readonly expiration?: number;
  /** For RS, PS, ES and EdDSA: verifies tokens. */
  readonly publicKey?: KeySources["publicKey"];
  /** For RS, PS, ES and EdDSA: makes tokens too; the public half is derived from it. */
  readonly privateKey?: KeySources["privateKey"];
  /** A key set, or the file that holds one; a token's `kid` chooses the key. */
  readonly jwks?: KeySources["jwks"];
  /** The `kid` of tokens made here. */
  readonly keyId?: string;
  /** The accepted issuers (`iss`). Tokens made here have the first one. */
  readonly issuer?: string | readonly string[];
  /** The accepted audiences (`aud`): a token must have one of these. Tokens made here have all of them. */
  readonly audience?: string | readonly string[];
  /** Seconds by which clocks may differ. Default 0. */
  readonly leeway?: number;
  /** The `typ` that a token must have; by default "JWT" or none. */
  readonly type?: string;
  /** Seconds from the first token to the last refreshed one. Default 7 days. */
  readonly refreshLimit?: number;
  /** Seconds that a token must be old to be refreshed (429). Default 0. */
  readonly refreshAge?: number;
  /**
   * Seconds after a refresh in which the same token can be refreshed again; 0 makes each second refresh end the whole
   * family of tokens. Default 10.
   */
  readonly refreshGrace?: number;
  /** Tokens that one subject can refresh within `expiration` seconds, in each process (429). Default 100. */
  readonly maxRefreshes?: number;
  /** The number of verified tokens that are cached; 0 disables the cache. Default 1000. */
  readonly cache?: number;
  /** The store of revoked tokens. Default: in memory. */
  readonly revocations?: RevocationStore;
}

const positional = ["secret", "algorithm", "expiration"] as const;

class BaseJwtConfig {
  readonly algorithm: JwtAlgorithm;
  readonly expiration: number;
  readonly issuer: readonly string[];
  readonly audience: readonly string[];
  readonly leeway: number;
  /** In lower case; null for "JWT" or none. */
  readonly type: string | null;
  readonly cache: number;
  readonly revocations: RevocationStore | null;
  // Private fields are shown by neither JSON nor util.inspect.
  readonly #given: Partial<JwtOptions>;
  readonly #keys: KeyRing;

  constructor(...given: unknown[]) {
    const options = readCall<JwtOptions>("JwtConfig", given, positional, checks);
    const algorithm = algorithmOf(options);
    this.#given = options;
    this.#keys = keyRing(algorithm, options);
    this.algorithm = algorithm.name;
    this.expiration = options.expiration ?? 3600;
    this.issuer = listOf(options.issuer);
    this.audience = listOf(options.audience);
    this.leeway = options.leeway ?? 0;
    this.type = options.type === undefined ? null : mediaType(options.type);
    this.cache = options.cache ?? 1000;
    this.revocations = options.revocations ?? null;
  }

  get secret(): string | Uint8Array | undefined {
    return this.#given.secret;
  }

  get keyId(): string | undefined {
    return this.#given.keyId;
  }

  get refreshLimit(): number {
    return this.#given.refreshLimit ?? 7 * 24 * 3600;
  }

  get refreshAge(): number {
    return this.#given.refreshAge ?? 0;
  }

  get refreshGrace(): number {
    return this.#given.refreshGrace ?? 10;
  }

  get maxRefreshes(): number {
    return this.#given.maxRefreshes ?? 100;
  }

  /** @internal */
  get keys(): KeyRing {
    return this.#keys;
  }
}

/** The settings by which tokens are made and accepted. */
export class JwtConfig extends BaseJwtConfig {
  // Two signatures: an editor would suggest the members of Uint8Array together with the options.
  constructor(options: EitherSpelling<JwtOptions>);
  constructor(secret: string | Uint8Array, algorithm?: JwtAlgorithm, expiration?: number);
  constructor(...given: unknown[]) {
    super(...given);
  }
}
export interface JwtConfig
  extends SnakeMembers<BaseJwtConfig, "keyId" | "refreshLimit" | "refreshAge" | "refreshGrace" | "maxRefreshes", never>,
    ConfigOf<"JwtConfig"> {}
addSnakeNames(BaseJwtConfig.prototype, ["keyId", "refreshLimit", "refreshAge", "refreshGrace", "maxRefreshes"]);

/** A `typ` in the form used for comparison: RFC 7515 section 4.1.9 allows "application/" to be omitted. */
export function mediaType(typ: string): string {
  const lower = typ.toLowerCase();
  return lower.startsWith("application/") ? lower.slice("application/".length) : lower;
}

function algorithmOf(options: Partial<JwtOptions>): Algorithm {
  const name = options.algorithm ?? (options.secret === undefined ? undefined : "HS256");
  if (name === undefined) {
    throw new ValueError(
      "JwtConfig needs a 'secret', or an 'algorithm' with keys: it got neither. Is the variable that holds it set?",
    );
  }
  return algorithms.get(name)!;
}

function listOf(given: string | readonly string[] | undefined): readonly string[] {
  return given === undefined ? [] : typeof given === "string" ? [given] : [...given];
}

const texts = is.either(is.text, is.list(is.text));
/** A key is never shown in a message. */
const key = (value: unknown): string | undefined =>
  typeof value === "string" || (typeof value === "object" && value !== null) ? undefined : "PEM, a JWK or a KeyObject";

const checks: Checks<JwtOptions> = {
  secret: (value) => (typeof value === "string" || value instanceof Uint8Array ? undefined : "bytes or a string"),
  algorithm: is.oneOf(...algorithms.keys()),
  expiration: is.integer(1),
  publicKey: key,
  privateKey: key,
  jwks: is.either(is.text, is.object),
  keyId: is.text,
  issuer: texts,
  audience: texts,
  leeway: is.number(0, 3600),
  type: is.text,
  refreshLimit: is.integer(1),
  refreshAge: is.number(0),
  refreshGrace: is.number(0, 60),
  maxRefreshes: is.integer(1),
  cache: is.integer(0, 1_000_000),
  revocations: (value) =>
    typeof (value as RevocationStore | null)?.has === "function" && typeof (value as RevocationStore).add === "function"
      ? undefined
      : "an object with has and add",
};
