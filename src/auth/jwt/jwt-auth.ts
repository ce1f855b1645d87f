import { httpError } from "../../errors/http-error.js";
import { Request } from "../../http/request.js";
import { asPromise, isPromise } from "../../internal/is-promise.js";
import { addSnakeNames, type EitherSpelling, type SnakeMembers } from "../../internal/names.js";
import { nodeCrypto } from "../../internal/node-modules.js";
import { isPlainObject } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { StoreSource } from "../../pipeline/shared-stores.js";
import { SchemeAuth, type SecurityScheme } from "../auth.js";
import { unauthorized } from "../unauthorized.js";
import { bearerToken } from "./bearer.js";
import { isTimely, type JwtClaims } from "./claims.js";
import { JwtConfig, type JwtOptions } from "./config.js";
import { TokenReader } from "./read-token.js";
import { MemoryRevocations, type RevocationStore } from "./revocations.js";
import type { VerifiedToken } from "./verified-token.js";

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    revokedTokens: RevocationStore;
  }
}

class BaseJwtAuth extends SchemeAuth {
  readonly name = "jwt-auth";
  readonly schemeName = "bearerAuth";
  readonly securityScheme: SecurityScheme = { type: "http", scheme: "bearer", bearerFormat: "JWT" };
  /** The store of revoked tokens. It can be replaced by a shared store before the application starts. */
  revocations: RevocationStore;
  readonly #config: JwtConfig;
  readonly #reader: TokenReader;
  readonly #header: string;

  constructor(config: JwtConfig | EitherSpelling<JwtOptions>) {
    super();
    this.#config = config instanceof JwtConfig ? config : new JwtConfig(config);
    this.#reader = new TokenReader(this.#config);
    this.#header = headerOf(this.#config);
    this.revocations = this.#config.revocations ?? new MemoryRevocations();
  }

  /** Uses the store that all workers share, unless the config names one. */
  override prepare(stores: StoreSource): void {
    const own = this.revocations;
    const given = own instanceof MemoryRevocations && this.#config.revocations === null ? null : own;
    this.revocations = stores.store("revokedTokens", { holds: "revoked tokens", given, local: () => own });
  }

  authenticate(request: Request): void | Promise<void> {
    const token = bearerToken(request);
    if (token === undefined) throw unauthorized("A bearer token is required.", "Bearer");
    request.personal = true;
    const verdict = this.#check(token);
    if (!isPromise(verdict)) {
      request.context.jwt_claims = verdict.claims;
      return undefined;
    }
    return verdict.then(({ claims }) => {
      request.context.jwt_claims = claims;
    });
  }

  /** The claims of a token; throws 401 when it is not valid. */
  verify(token: string): Promise<JwtClaims> {
    return settled(() => this.#check(token)).then(({ claims }) => claims);
  }

  /**
   * A signed token with these claims. `iat`, `exp` and `jti` are added, and `iss` and `aud` where they are configured,
   * unless they are given.
   */
  createToken(claims: JwtClaims = {}): string {
    const key = this.#config.keys.signing;
    if (key === null) throw new ValueError("createToken() needs a secret or a private key in JwtConfig");
    if (!isPlainObject(claims)) throw new ValueError("createToken() takes an object of claims");
    const now = Math.floor(Date.now() / 1000);
    const { issuer, audience, expiration } = this.#config;
    const whole: JwtClaims = {
      ...(issuer.length > 0 && { iss: issuer[0]! }),
      ...(audience.length > 0 && { aud: audience.length === 1 ? audience[0]! : audience }),
      ...claims,
      iat: claims.iat ?? now,
      exp: claims.exp ?? now + expiration,
      jti: claims.jti ?? nodeCrypto().randomUUID(),
    };
    for (const name of ["iat", "exp", "nbf"] as const) {
      if (whole[name] !== undefined && !Number.isFinite(whole[name])) {
        throw new ValueError(`the claim '${name}' must be a number of seconds since 1970`);
      }
    }
    const input = `${this.#header}.${Buffer.from(JSON.stringify(whole)).toString("base64url")}`;
    return `${input}.${key.sign(input)}`;
  }

  /**
   * A new token in place of a valid one, which is revoked: it can be refreshed once. `orig_iat` carries the time of the
   * first token, so that nobody refreshes for ever.
   */
  async refresh(given: string | Request): Promise<string> {
    const token = tokenOf(given);
    const { claims, times, id } = await this.#check(token);
    const { iat, exp, jti, nbf, ...kept } = claims;
    const began = Number(claims["orig_iat"] ?? iat ?? Date.now() / 1000);
    // Not `>=`, which is false for NaN.
    if (!(Date.now() / 1000 < began + this.#config.refreshLimit)) throw invalid();
    const next = this.createToken({ ...kept, orig_iat: began });
    // Of two that refresh the same token at once one wins.
    if (!(await this.#asked(() => this.revocations.add(id, times.exp + this.#config.leeway)))) throw invalid();
    this.#reader.forget(token);
    return next;
  }

  /** Makes a token worthless before it expires. Throws 401 for what is not a token of ours. */
  async revoke(given: string | Request): Promise<void> {
    const token = tokenOf(given);
    const verified = this.#reader.read(token);
    if (verified === null) throw invalid();
    const until = verified.times.exp + this.#config.leeway;
    this.#reader.forget(token);
    if (until > Date.now() / 1000) await this.#asked(() => this.revocations.add(verified.id, until));
  }

  #check(token: string): VerifiedToken | Promise<VerifiedToken> {
    const verified = this.#reader.read(token);
    if (verified === null || !isTimely(verified.times, Date.now() / 1000, this.#config.leeway)) throw invalid();
    const revoked = this.#asked(() => this.revocations.has(verified.id));
    if (!isPromise(revoked)) return unlessRevoked(verified, revoked);
    return revoked.then((verdict) => unlessRevoked(verified, verdict));
  }

  /** Asks the store. If it fails, the token cannot be accepted: 503. */
  #asked(ask: () => boolean | Promise<boolean>): boolean | Promise<boolean> {
    try {
      const answer = ask();
      return isPromise(answer) ? asPromise(answer).catch(unavailable) : answer;
    } catch (error) {
      return unavailable(error);
    }
  }
}

/** Tokens in `Authorization: Bearer` (RFC 7519). */
export class JwtAuth extends BaseJwtAuth {}
export interface JwtAuth extends SnakeMembers<BaseJwtAuth, "createToken", never> {}
addSnakeNames(BaseJwtAuth.prototype, ["createToken"]);

/** One response for all: clients cannot distinguish forged, expired and revoked tokens. */
function invalid(): Error {
  return unauthorized("The token is invalid or has expired.", 'Bearer error="invalid_token"');
}

function unlessRevoked(token: VerifiedToken, revoked: unknown): VerifiedToken {
  if (revoked !== false) throw invalid();
  return token;
}

function unavailable(cause: unknown): never {
  throw httpError("SERVICE_UNAVAILABLE", undefined, { cause });
}

function tokenOf(given: string | Request): string {
  if (typeof given === "string") return given;
  const token = given instanceof Request ? bearerToken(given) : undefined;
  if (token === undefined) throw unauthorized("A bearer token is required.", "Bearer");
  return token;
}

function headerOf({ algorithm, type, keyId }: JwtConfig): string {
  const header = { alg: algorithm, typ: type ?? "JWT", ...(keyId !== undefined && { kid: keyId }) };
  return Buffer.from(JSON.stringify(header)).toString("base64url");
}

async function settled<T>(run: () => T | Promise<T>): Promise<T> {
  return run();
}
