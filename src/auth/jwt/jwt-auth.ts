import { HttpError, httpError } from "../../errors/http-error.js";
import { unavailable } from "../../errors/paced.js";
import type { Authority } from "../../http/authority.js";
import type { Request } from "../../http/request.js";
import type { ConfigOf } from "../../kit/config-of.js";
import { asPromise, isPromise } from "../../kit/is-promise.js";
import { addSnakeNames, type EitherSpelling, type SnakeMembers } from "../../kit/names.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { isPlainObject } from "../../kit/options.js";
import { sleep } from "../../kit/time/within.js";
import { ValueError } from "../../kit/value-error.js";
import { OpenAuthorities } from "../../pipeline/open-authorities.js";
import type { StoreSource } from "../../pipeline/shared-stores.js";
import { storeReply } from "../../pipeline/store-reply.js";
import { SchemeAuth, type SecurityScheme } from "../auth.js";
import { unauthorized } from "../unauthorized.js";
import { tokenOf } from "./bearer.js";
import { isTimely, type JwtClaims } from "./claims.js";
import { JwtConfig, type JwtOptions } from "./config.js";
import { TokenReader } from "./read-token.js";
import { RefreshGrace } from "./refresh-grace.js";
import { RefreshQuota } from "./refresh-quota.js";
import { MemoryRevocations, type RevocationStore } from "./revocations.js";
import { familyClaim, familyId, familyOf, subjectId, type VerifiedToken } from "./verified-token.js";

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    revokedTokens: RevocationStore;
  }
}

/** Seconds: tokens of another issuer, or with an `exp` of the application, can live longer than `expiration`. */
const longestLife = 90 * 86_400;

class BaseJwtAuth extends SchemeAuth {
  readonly name = "jwt-auth";
  readonly schemeName = "bearerAuth";
  readonly securityScheme: SecurityScheme = { type: "http", scheme: "bearer", bearerFormat: "JWT" };
  /** The store of revoked tokens. It can be replaced by a shared store before the application starts. */
  revocations: RevocationStore;
  readonly #config: JwtConfig;
  readonly #reader: TokenReader;
  readonly #header: string;
  readonly #quota: RefreshQuota;
  readonly #grace: RefreshGrace;
  /** WebSockets and streams, by the family of their token: they outlive its refresh. */
  readonly #open = new OpenAuthorities(() => this.revocations);

  constructor(config: ConfigOf<"JwtConfig"> | EitherSpelling<JwtOptions>) {
    super();
    this.#config = config instanceof JwtConfig ? config : new JwtConfig(config as EitherSpelling<JwtOptions>);
    this.#reader = new TokenReader(this.#config);
    this.#header = headerOf(this.#config);
    this.#quota = new RefreshQuota(this.#config.maxRefreshes, this.#config.expiration);
    this.#grace = new RefreshGrace(this.#config.refreshGrace);
    this.revocations = this.#config.revocations ?? new MemoryRevocations();
  }

  /** Uses the store that all workers share, unless the config names one. Begins to load keys of another issuer. */
  override prepare(stores: StoreSource): void {
    if (this.#config.keys.available === false) void this.#config.keys.missing?.(undefined);
    const own = this.revocations;
    const given = own instanceof MemoryRevocations && this.#config.revocations === undefined ? null : own;
    this.revocations = stores.store("revokedTokens", { holds: "revoked tokens", given, local: () => own });
  }

  authenticate(request: Request): void | Promise<void> {
    const token = tokenOf(request);
    request.personal = true;
    const verdict = this.#check(token, request);
    if (isPromise(verdict)) return verdict.then((verified) => this.#accept(request, verified));
    return this.#accept(request, verdict);
  }

  /**
   * The claims of a token; throws 401 when it is not valid. A WebSocket or an event stream of the request, if one is given,
   * ends when the token is revoked.
   */
  async verify(token: string, request?: Request): Promise<JwtClaims> {
    const verified = await this.#check(token, request);
    if (request !== undefined) this.#endWith(request, verified);
    return verified.claims;
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
   * A new token in place of a valid one, which is revoked. Within `refreshGrace` seconds it can be refreshed again, so that a
   * client can repeat a request that failed. Later that is reuse: the token was stolen or its successor was, so all its
   * descendants end. `orig_iat` carries the time of the first token, which limits refreshing, and `token_family`
   * the id of the first token. Throws 429 for a token that is too young, and for a subject with too many refreshes.
   */
  async refresh(given: string | Request): Promise<string> {
    const token = tokenOf(given);
    const verified = await this.#read(token);
    const { claims, times, id } = verified;
    const now = Date.now() / 1000;
    const used = (await this.#tokenEnded(verified)) !== false;
    if (used && (await this.#asked(() => this.#grace.covers(this.revocations, id, now))) !== true) {
      await this.#endFamily(verified, now);
      throw invalid();
    }
    unlessRevoked(verified, await (used ? this.#isRevoked(familyId(verified)) : this.#familyEnded(verified)));
    unlessRevoked(verified, await this.#subjectEnded(verified));
    const { iat, exp, jti, nbf, ...kept } = claims;
    const began = Number(claims["orig_iat"] ?? iat ?? now);
    // Not `>=`, which is false for NaN.
    if (!(now < began + this.#config.refreshLimit)) throw invalid();
    const tooYoung = Math.ceil(times.iat + this.#config.refreshAge - now);
    if (tooYoung > 0) throw tooManyRequests(tooYoung);
    const subject = claims.sub ?? familyOf(verified);
    const wait = this.#quota.take(subject, now);
    if (wait > 0) throw tooManyRequests(wait);
    const next = this.createToken({ ...kept, orig_iat: began, [familyClaim]: familyOf(verified) });
    try {
      if (!used) await this.#replace(verified, now);
    } catch (error) {
      // The request can be repeated as often as the store fails.
      if (isUnavailable(error)) this.#quota.giveBack(subject);
      throw error;
    }
    this.#reader.forget(token);
    return next;
  }

  #accept(request: Request, verified: VerifiedToken): void {
    request.context.jwt_claims = verified.claims;
    this.#endWith(request, verified);
  }

  #endWith(request: Request, verified: VerifiedToken): void {
    request.acceptedWith((verified.authority ??= this.#authorityOf(verified)));
  }

  #authorityOf(verified: VerifiedToken): Authority {
    const family = familyOf(verified);
    const ids = verified.subject === null ? [family] : [family, verified.subject];
    return { watch: (end) => this.#open.watch(ids, () => this.#isValid(verified), end) };
  }

  /** Rejects if the store fails. */
  async #isValid(verified: VerifiedToken): Promise<boolean> {
    try {
      return (await this.#unrevoked(verified)) === verified;
    } catch (error) {
      if (isUnavailable(error)) throw error;
      return false;
    }
  }

  /** Revokes a token that is refreshed. Of two that refresh it at the same moment one wins, unless there is a grace. */
  async #replace(token: VerifiedToken, now: number): Promise<void> {
    const isLenient = this.#grace.seconds > 0;
    if (isLenient) await this.#asked(() => this.#grace.begin(this.revocations, token.id, now));
    const isFirst = await this.#asked(() => this.revocations.add(token.id, token.times.exp + this.#config.leeway));
    if (isFirst || isLenient) return;
    await this.#endFamily(token, now);
    throw invalid();
  }

  /**
   * Makes a token worthless before it expires, and ends the WebSockets and streams that were opened with it. Throws 401 for
   * what is not a token of ours.
   */
  async revoke(given: string | Request): Promise<void> {
    const token = tokenOf(given);
    const verified = await this.#find(token);
    if (verified === null) throw invalid();
    const until = verified.times.exp + this.#config.leeway;
    this.#reader.forget(token);
    const now = Date.now() / 1000;
    const family = familyOf(verified);
    const isFirst = until <= now || (await this.#asked(() => this.revocations.add(verified.id, until, family)));
    // It has been refreshed: its successor is revoked too. Within the grace its parent can have made another.
    const hasSibling = this.#grace.seconds > 0 && typeof verified.claims[familyClaim] === "string";
    if (!isFirst || (hasSibling && until > now)) await this.#endFamily(verified, now);
    // A store of the application need not report it.
    this.#open.end(family);
  }

  /**
   * Revokes all tokens of a subject (`sub`) that have been issued so far, with those that were refreshed from them, and ends
   * the WebSockets and streams that were opened with them. Resolves when the present second is over: tokens have the time
   * of their issue in whole seconds, and those of the seconds after it are valid.
   */
  async revokeAll(subject: string): Promise<void> {
    if (typeof subject !== "string" || subject === "") {
      throw new ValueError("revokeAll() takes the subject of the tokens, a non-empty string");
    }
    const now = Date.now();
    const second = Math.floor(now / 1000);
    const until = second + Math.max(this.#config.expiration, longestLife) + this.#config.leeway;
    const id = subjectId(subject);
    await this.#asked(() => this.revocations.add(id, until, id, second));
    this.#open.end(id);
    // Timers can be a little early.
    await sleep((second + 1) * 1000 - now + 10);
  }

  #check(token: string, request?: Request): VerifiedToken | Promise<VerifiedToken> {
    const read = this.#read(token);
    if (isPromise(read)) return read.then((verified) => this.#unrevokedFor(request, verified));
    return this.#unrevokedFor(request, read);
  }

  #unrevokedFor(request: Request | undefined, read: VerifiedToken): VerifiedToken | Promise<VerifiedToken> {
    const checked = this.#unrevoked(read);
    return request !== undefined && isPromise(checked) ? storeReply(request, checked) : checked;
  }

  #unrevoked(verified: VerifiedToken): VerifiedToken | Promise<VerifiedToken> {
    const ended = this.#tokenEnded(verified);
    const familyEnded = this.#familyEnded(verified);
    const subjectEnded = this.#subjectEnded(verified);
    // Nothing is made for a request whose store is in memory.
    if (ended === false && familyEnded === false && subjectEnded === false) return verified;
    const asked = [ended, familyEnded, subjectEnded];
    if (!asked.some(isPromise)) return asked.reduce(unlessRevoked, verified);
    return Promise.all(asked).then((verdicts) => verdicts.reduce(unlessRevoked, verified));
  }

  #tokenEnded(token: VerifiedToken): boolean | Promise<boolean> {
    return this.#isRevoked(token.id, this.#issuedAt(token));
  }

  /** A token that does not say when it was issued is as old as it can be. */
  #issuedAt({ times }: VerifiedToken): number {
    return Number.isFinite(times.iat) ? times.iat : times.exp - this.#config.expiration;
  }

  /** A token that is valid but for its revocation, which is not checked. */
  #read(token: string): VerifiedToken | Promise<VerifiedToken> {
    const found = this.#find(token);
    return isPromise(found) ? found.then((verified) => this.#timely(verified)) : this.#timely(found);
  }

  #timely(verified: VerifiedToken | null): VerifiedToken {
    if (verified === null || !isTimely(verified.times, Date.now() / 1000, this.#config.leeway)) throw invalid();
    return verified;
  }

  /** The token, after its key has been loaded if it is not known. Without any keys no token can be judged: 503. */
  #find(token: string): VerifiedToken | null | Promise<VerifiedToken | null> {
    const verified = this.#reader.read(token);
    if (verified !== null || this.#config.keys.version === undefined) return verified;
    const loading = this.#reader.missingKey(token);
    if (loading === null) return this.#unlessKeyless(null);
    return loading.then(() => this.#unlessKeyless(this.#reader.read(token)));
  }

  #unlessKeyless(verified: VerifiedToken | null): VerifiedToken | null {
    if (this.#config.keys.available === false) throw unavailable();
    return verified;
  }

  /** Only refreshed tokens have a family, so that others need one question to the store. */
  #familyEnded(token: VerifiedToken): boolean | Promise<boolean> {
    if (typeof token.claims[familyClaim] !== "string") return false;
    return this.#isRevoked(familyId(token));
  }

  /**
   * By the time of the first token of the family, in whole seconds: a refresh makes no token younger. One that does not say
   * when it was issued may be older than any revocation.
   */
  #subjectEnded({ claims, times, subject }: VerifiedToken): boolean | Promise<boolean> {
    const { orig_iat: began } = claims;
    if (subject === null) return false;
    const issuedAt = typeof began === "number" ? began : times.iat;
    const known = Number.isFinite(issuedAt) ? Math.floor(issuedAt) : undefined;
    return this.#isRevoked(subject, known);
  }

  /** Kept until the last token that the family can have made so far has expired. */
  async #endFamily(token: VerifiedToken, now: number): Promise<void> {
    const { expiration, leeway } = this.#config;
    const family = familyOf(token);
    await this.#asked(() => this.revocations.add(familyId(token), now + expiration + leeway, family));
    this.#open.end(family);
  }

  /** Asks the store for an id, for every request: without a function of it. */
  #isRevoked(id: string, issuedAt?: number): boolean | Promise<boolean> {
    try {
      const answer = this.revocations.has(id, issuedAt);
      return isPromise(answer) ? asPromise(answer).catch(refuse) : answer;
    } catch (error) {
      // Not thrown: another question may be under way.
      return Promise.reject(error).catch(refuse);
    }
  }

  /** Asks the store. If it fails, the token cannot be accepted: 503. */
  async #asked(ask: () => boolean | Promise<boolean>): Promise<boolean> {
    try {
      return await ask();
    } catch (error) {
      return refuse(error);
    }
  }
}

/** Tokens in `Authorization: Bearer` (RFC 7519). */
export class JwtAuth extends BaseJwtAuth {}
export interface JwtAuth extends SnakeMembers<BaseJwtAuth, "createToken" | "revokeAll", never> {}
addSnakeNames(BaseJwtAuth.prototype, ["createToken", "revokeAll"]);

/** One response for all: clients cannot distinguish forged, expired and revoked tokens. */
function invalid(): Error {
  return unauthorized("The token is invalid or has expired.", 'Bearer error="invalid_token"');
}

function unlessRevoked(token: VerifiedToken, revoked: unknown): VerifiedToken {
  if (revoked !== false) throw invalid();
  return token;
}

function tooManyRequests(seconds: number): Error {
  const headers = { "Retry-After": String(seconds) };
  return httpError("TOO_MANY_REQUESTS", undefined, { headers, extensions: { retry_after: seconds } });
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HttpError && error.status === 503;
}

function refuse(cause: unknown): never {
  throw unavailable(cause);
}

function headerOf({ algorithm, type, keyId }: JwtConfig): string {
  const header = { alg: algorithm, typ: type ?? "JWT", ...(keyId !== undefined && { kid: keyId }) };
  return Buffer.from(JSON.stringify(header)).toString("base64url");
}
