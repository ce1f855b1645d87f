import type { Request } from "../../http/request.js";
import { config, type OptionsOf, option, options } from "../../kit/config.js";
import { addSnakeNames, type EitherSpelling } from "../../kit/names.js";
import { is, isPlainObject } from "../../kit/options.js";
import type { Duration } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import type { RateLimitStore } from "./store.js";

/** Identifies the client of a request: null for one that is not limited, undefined for its address. */
export type RateLimitKey = (request: Request) => KeyResult | Promise<KeyResult>;
type KeyResult = string | null | undefined;

/** The number of requests that a request counts as: a whole number, 0 for one that is not limited. */
export type RateLimitCost = (request: Request) => number;

const kinds = ["token_bucket", "sliding_window", "adaptive"] as const;

export type RateLimitKind = (typeof kinds)[number];

const fields = {
  /** The way of counting: see `tokenBucket`, `slidingWindow` and `adaptive`. Default "token_bucket". */
  kind: option(is.oneOf(...kinds), "token_bucket"),
  /** Requests that a client may make in `windowSecs`. Default 100. */
  maxRequests: option(is.integer(1), 100),
  /** The length of the window. Default 1 minute. */
  windowSecs: option.duration("1m", "1ms", "365d"),
  /** Adaptive: the smallest limit. Default: a tenth of `maxRequests`. */
  minRequests: option(is.integer(1), 10, "a tenth of `maxRequests`"),
  /** Adaptive: share of responses with a 5xx status above which the limit shrinks. Default 0.1. */
  errorThreshold: option(is.number(0, 1), 0.1),
  /** Adaptive: mean response time above which the limit shrinks; a number is milliseconds. Default: none. */
  latencyMs: option.milliseconds(null, 1),
  /** Identifies clients by the head of the request. Default: by address, IPv6 by its network. */
  key: option<RateLimitKey>(is.function),
  /** The number of requests that a request counts as, by its head. Above the limit it counts as the limit. Default 1. */
  cost: option<RateLimitCost>(is.function),
  /** Counts requests and logs those that it would refuse, but lets them pass and adds no headers. Default false. */
  shadow: option(is.boolean, false),
  /** The bits of an IPv6 address that identify a client: 64 for a line, 56 or 48 for a whole customer. Default 64. */
  ipv6Prefix: option(is.integer(16, 128), 64),
  /** Largest number of clients that are counted; beyond it the least recent are dropped. Default 100000. */
  maxKeys: option(is.integer(2), 100000),
  /**
   * Handling of requests while a shared store fails: "allow" lets each machine count for itself, "deny" refuses with 503.
   * Default "allow".
   */
  onStoreError: option(is.oneOf("allow", "deny"), "allow"),
  /** The store of the counts. Default: the key-value store if one is enabled, else the memory of the server. */
  store: option<RateLimitStore>(is.object),
};

export interface RateLimitOptions extends OptionsOf<typeof fields> {}

const positional = options("RateLimitConfig", fields, { order: ["maxRequests", "windowSecs"] });

const adaptiveOnly = ["minRequests", "errorThreshold", "latencyMs"] as const;

type Arguments<Options> = [
  maxRequestsOrOptions?: number | EitherSpelling<Options>,
  windowSecs?: Duration,
  options?: EitherSpelling<Options>,
];

type BucketOptions = Omit<RateLimitOptions, "kind" | (typeof adaptiveOnly)[number]>;

/** The number of requests that a client may make in a time. Routes with the same config share its counts. */
export class RateLimitConfig extends config("RateLimitConfig", fields, {
  refine({ kind, maxRequests }, given) {
    const misplaced = adaptiveOnly.find((name) => kind !== "adaptive" && given[name] !== undefined);
    if (misplaced) throw new ValueError(`option '${misplaced}' in RateLimitConfig goes with kind "adaptive" only`);
    const minRequests = given.minRequests ?? Math.max(1, Math.floor(maxRequests / 10));
    if (minRequests > maxRequests) {
      throw new ValueError(`option 'minRequests' in RateLimitConfig must be at most maxRequests, ${maxRequests}`);
    }
    return { minRequests };
  },
}) {
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
}
export declare namespace RateLimitConfig {
  const token_bucket: typeof RateLimitConfig.tokenBucket;
  const sliding_window: typeof RateLimitConfig.slidingWindow;
}

addSnakeNames(RateLimitConfig, ["tokenBucket", "slidingWindow"]);

/** Checks the route option `rateLimit`. Throws if a field of it is wrong, so that the message names the field. */
export function isRateLimitOption(value: unknown): string | undefined {
  if (value === false) return undefined;
  const wrong = "a RateLimitConfig, its fields, a list of them, or false";
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (const one of list) {
    if (one instanceof RateLimitConfig) continue;
    if (!isPlainObject(one)) return wrong;
    new RateLimitConfig(one);
  }
  return list.length > 0 ? undefined : wrong;
}

/** `(100, 60)`, `(100, 60, { key })` or `({ maxRequests: 100, windowSecs: 60 })`. */
function create(kind: RateLimitKind, owner: string, given: readonly unknown[]): RateLimitConfig {
  const last = given.at(-1);
  const extra = given.length > 1 && isPlainObject(last) ? last : {};
  const first = extra === last ? given.slice(0, -1) : given;
  const read = {
    ...positional.readGiven(first, owner),
    ...positional.readGiven([extra], owner),
  };
  if (read.kind !== undefined && read.kind !== kind) {
    throw new ValueError(`option 'kind' in ${owner} cannot be ${JSON.stringify(read.kind)}`);
  }
  return new RateLimitConfig({ ...read, kind });
}
