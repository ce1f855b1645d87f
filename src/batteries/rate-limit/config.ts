import type { Request } from "../../http/request.js";
import type { ConfigOf } from "../../internal/config-of.js";
import { addSnakeNames, type EitherSpelling, type SnakeCase, snakeCase } from "../../internal/names.js";
import { type Checks, is, isPlainObject, readCall, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { RateLimitStore } from "./store.js";

/** Identifies the client of a request: null for one that is not limited, undefined for its address. */
export type RateLimitKey = (request: Request) => KeyResult | Promise<KeyResult>;
type KeyResult = string | null | undefined;

export type RateLimitKind = "token_bucket" | "sliding_window" | "adaptive";

export interface RateLimitOptions {
  /** The way of counting: see `tokenBucket`, `slidingWindow` and `adaptive`. Default "token_bucket". */
  readonly kind?: RateLimitKind;
  /** Requests that a client may make in `windowSecs`. Default 100. */
  readonly maxRequests?: number;
  /** The length of the window in seconds. Default 60. */
  readonly windowSecs?: number;
  /** Adaptive: the smallest limit. Default a tenth of `maxRequests`. */
  readonly minRequests?: number;
  /** Adaptive: share of responses with a 5xx status above which the limit shrinks. Default 0.1. */
  readonly errorThreshold?: number;
  /** Adaptive: mean response time in milliseconds above which the limit shrinks. Default: none. */
  readonly latencyMs?: number;
  /** Identifies clients by the head of the request. Default: by address, IPv6 by its /64. */
  readonly key?: RateLimitKey;
  /** Largest number of clients that are counted; beyond it the least recent are dropped. Default 100000. */
  readonly maxKeys?: number;
  /**
   * Handling of requests while a shared store fails: "allow" lets each process count for itself, "deny" refuses with 503.
   * Default "allow".
   */
  readonly onStoreError?: "allow" | "deny";
  /** The store of the counts. Default: the key-value store if one is enabled, else the memory of the server. */
  readonly store?: RateLimitStore;
}

type Settings = Required<Omit<RateLimitOptions, OptionalField>> & Pick<RateLimitOptions, OptionalField>;
type OptionalField = "latencyMs" | "key" | "store";

const checks: Checks<RateLimitOptions> = {
  kind: is.oneOf("token_bucket", "sliding_window", "adaptive"),
  maxRequests: is.integer(1),
  windowSecs: is.number(0.001, 31_536_000),
  minRequests: is.integer(1),
  errorThreshold: is.number(0, 1),
  latencyMs: is.number(0.001),
  key: is.function,
  maxKeys: is.integer(2),
  onStoreError: is.oneOf("allow", "deny"),
  store: is.object,
};

const adaptiveOnly = ["minRequests", "errorThreshold", "latencyMs"] as const;

type Arguments<Options> = [
  maxRequestsOrOptions?: number | EitherSpelling<Options>,
  windowSecs?: number,
  options?: EitherSpelling<Options>,
];

type BucketOptions = Omit<RateLimitOptions, "kind" | (typeof adaptiveOnly)[number]>;

/** The number of requests that a client may make in a time. Routes with the same config share its counts. */
export class RateLimitConfig {
  constructor(options: EitherSpelling<RateLimitOptions> = {}) {
    const given = readOptions<RateLimitOptions>("RateLimitConfig", options, checks);
    const { kind = "token_bucket", maxRequests = 100 } = given;
    const misplaced = adaptiveOnly.find((name) => kind !== "adaptive" && given[name] !== undefined);
    if (misplaced) throw new ValueError(`option '${misplaced}' in RateLimitConfig goes with kind "adaptive" only`);
    const minRequests = given.minRequests ?? Math.max(1, Math.floor(maxRequests / 10));
    if (minRequests > maxRequests) {
      throw new ValueError(`option 'minRequests' in RateLimitConfig must be at most maxRequests, ${maxRequests}`);
    }
    const defaults = { windowSecs: 60, errorThreshold: 0.1, maxKeys: 100_000, onStoreError: "allow" };
    Object.assign(this, { ...defaults, ...given, kind, maxRequests, minRequests });
  }

  /** Requests refill evenly; one that has been idle may make `maxRequests` at once. */
  static tokenBucket(...given: Arguments<BucketOptions>): RateLimitConfig {
    return create("token_bucket", "RateLimitConfig.tokenBucket()", given);
  }

  /** No more than `maxRequests` in any stretch of `windowSecs`. */
  static slidingWindow(...given: Arguments<BucketOptions>): RateLimitConfig {
    return create("sliding_window", "RateLimitConfig.slidingWindow()", given);
  }

  /** A token bucket that shrinks while responses fail or are slow, and recovers afterwards. */
  static adaptive(...given: Arguments<Omit<RateLimitOptions, "kind">>): RateLimitConfig {
    return create("adaptive", "RateLimitConfig.adaptive()", given);
  }

  /** Takes a config, or its fields. */
  static from(
    given: ConfigOf<"RateLimitConfig"> | EitherSpelling<RateLimitOptions> | null | undefined,
  ): RateLimitConfig {
    return given instanceof RateLimitConfig
      ? given
      : new RateLimitConfig((given ?? {}) as EitherSpelling<RateLimitOptions>);
  }
}
export interface RateLimitConfig extends Readonly<Settings>, Readonly<SnakeFields>, ConfigOf<"RateLimitConfig"> {}
export declare namespace RateLimitConfig {
  const token_bucket: typeof RateLimitConfig.tokenBucket;
  const sliding_window: typeof RateLimitConfig.slidingWindow;
}

type SnakeFields = { [K in keyof Settings as K extends string ? SnakeCase<K> : never]: Settings[K] };

addSnakeNames(RateLimitConfig, ["tokenBucket", "slidingWindow"]);
for (const name of Object.keys(checks) as (keyof RateLimitOptions)[]) {
  if (snakeCase(name) === name) continue;
  Object.defineProperty(RateLimitConfig.prototype, snakeCase(name), {
    get(this: RateLimitConfig) {
      return this[name];
    },
  });
}

/** Checks the route option `rateLimit`. Throws if a field of it is wrong, so that the message names the field. */
export function isRateLimitOption(value: unknown): string | undefined {
  if (value === false || value instanceof RateLimitConfig) return undefined;
  if (!isPlainObject(value)) return "a RateLimitConfig, its fields, or false";
  new RateLimitConfig(value);
  return undefined;
}

/** `(100, 60)`, `(100, 60, { key })` or `({ maxRequests: 100, windowSecs: 60 })`. */
function create(kind: RateLimitKind, owner: string, given: readonly unknown[]): RateLimitConfig {
  const last = given.at(-1);
  const extra = given.length > 1 && isPlainObject(last) ? last : {};
  const first = extra === last ? given.slice(0, -1) : given;
  const options = {
    ...readCall<RateLimitOptions>(owner, first, ["maxRequests", "windowSecs"], checks),
    ...readOptions<RateLimitOptions>(owner, extra, checks),
  };
  if (options.kind !== undefined && options.kind !== kind) {
    throw new ValueError(`option 'kind' in ${owner} cannot be ${JSON.stringify(options.kind)}`);
  }
  return new RateLimitConfig({ ...options, kind });
}
