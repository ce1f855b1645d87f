import { config, type OptionsOf, option } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is } from "../../kit/options.js";
import type { Duration } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { algorithms, type JwtAlgorithm } from "./algorithms.js";
import { type KeyRing, type KeySources, keyRing } from "./key-ring.js";
import type { KeyInput } from "./keys.js";
import type { RevocationStore } from "./revocations.js";

const isTexts = is.either<[string, readonly string[]]>(is.text, is.list(is.text));
const isSecret: Check<string | Uint8Array> = (value) =>
  typeof value === "string" || value instanceof Uint8Array ? undefined : "bytes or a string";
const isKey: Check<KeyInput> = (value) =>
  typeof value === "string" || (typeof value === "object" && value !== null) ? undefined : "PEM, a JWK or a KeyObject";
const isStore: Check<RevocationStore> = (value) => {
  const store = value as Partial<RevocationStore> | null;
  return typeof store?.has === "function" && typeof store.add === "function" ? undefined : "an object with has and add";
};

const JwtSettings = config(
  "JwtConfig",
  {
    /** For HS256, HS384 and HS512: at least 32 random bytes. */
    secret: option.secret(isSecret),
    /** The one algorithm that is accepted. Default: `HS256` if a secret is given. */
    algorithm: option<JwtAlgorithm>(
      is.oneOf(...algorithms.keys()) as Check<JwtAlgorithm>,
      "HS256",
      "`HS256` if a secret is given",
    ),
    /** Time for which tokens made here are valid. Default 1 hour. */
    expiration: option.duration("1h", "1s"),
    /** For RS, PS, ES and EdDSA: verifies tokens. */
    publicKey: option.secret(isKey),
    /** For RS, PS, ES and EdDSA: makes tokens too; the public half is derived from it. */
    privateKey: option.secret(isKey),
    /** A key set, or the file that holds one; a token's `kid` chooses the key. */
    jwks: option.secret<NonNullable<KeySources["jwks"]>>(is.either(is.text, is.object)),
    /** The `kid` of tokens made here. */
    keyId: option(is.text),
    /** The accepted issuers (`iss`). Tokens made here have the first one. */
    issuer: option.made(isTexts, listOf, []),
    /** The accepted audiences (`aud`): a token must have one of these. Tokens made here have all of them. */
    audience: option.made(isTexts, listOf, []),
    /** Time by which clocks may differ. Default 0. */
    leeway: option.duration(0, 0, "1h"),
    /** The `typ` that a token must have. Default: "JWT" or none. */
    type: option.made<string, string | undefined>(is.text, mediaType, undefined),
    /** Time from the first token to the last refreshed one. Default 7 days. */
    refreshLimit: option.duration("7d", "1s"),
    /** Time that a token must be old to be refreshed (429). Default 0. */
    refreshAge: option.duration(0),
    /**
     * Time after a refresh in which the same token can be refreshed again; 0 makes each second refresh end the whole
     * family of tokens. Default 10 seconds.
     */
    refreshGrace: option.duration("10s", 0, "1m"),
    /** Tokens that one subject can refresh within `expiration`, in each process (429). Default 100. */
    maxRefreshes: option(is.integer(1), 100),
    /** The number of verified tokens that are cached; 0 disables the cache. Default 1000. */
    cache: option(is.integer(0, 1_000_000), 1000),
    /** The store of revoked tokens. Default: in memory. */
    revocations: option(isStore),
  },
  {
    order: ["secret", "algorithm", "expiration"],
    refine({ expiration, refreshLimit, refreshAge, leeway }, { algorithm, secret }) {
      if (refreshAge >= expiration + leeway) {
        throw new ValueError(
          "option 'refreshAge' in JwtConfig must be below 'expiration': no token could be refreshed",
        );
      }
      if (algorithm === undefined && secret === undefined) {
        throw new ValueError(
          "JwtConfig needs a 'secret', or an 'algorithm' with keys: it got neither. Is the variable that holds it set?",
        );
      }
      // Tokens count whole seconds: many readers refuse a time with a fraction.
      return { expiration: Math.ceil(expiration), refreshLimit: Math.ceil(refreshLimit) };
    },
  },
);

export interface JwtOptions extends OptionsOf<typeof JwtSettings.options.fields> {}

/** The settings by which tokens are made and accepted. */
export class JwtConfig extends JwtSettings {
  // A private field is shown by neither JSON nor util.inspect.
  readonly #keys: KeyRing;

  // Two signatures: an editor would suggest the members of Uint8Array together with the options.
  constructor(options: EitherSpelling<JwtOptions>);
  constructor(secret: string | Uint8Array, algorithm?: JwtAlgorithm, expiration?: Duration);
  constructor(...given: unknown[]) {
    super(...(given as [EitherSpelling<JwtOptions>]));
    this.#keys = keyRing(algorithms.get(this.algorithm)!, this);
  }

  /** @internal */
  get keys(): KeyRing {
    return this.#keys;
  }
}

/** A `typ` in the form used for comparison: RFC 7515 section 4.1.9 allows "application/" to be omitted. */
export function mediaType(typ: string): string {
  const lower = typ.toLowerCase();
  return lower.startsWith("application/") ? lower.slice("application/".length) : lower;
}

function listOf(given: string | readonly string[]): readonly string[] {
  return typeof given === "string" ? [given] : [...given];
}
