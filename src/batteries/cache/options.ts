import { isToken } from "../../http/headers.js";
import { type Check, type Checks, is, readCall, readOptions } from "../../internal/options.js";
import { boundedText } from "./cache-key.js";
import type { CacheStore } from "./store.js";

/** What becomes of answers to clients that say who they are. */
export type CacheCredentials = "bypass" | "share" | "vary";

export interface CacheOptions {
  /** Seconds for which an answer is kept that does not say how long itself. Default 300. */
  readonly ttl?: number;
  /** Default GET and HEAD; there are no others whose answers can be kept. */
  readonly methods?: readonly string[];
  /** Paths that are left alone, with everything below them. */
  readonly excludePaths?: readonly string[];
  /** Seconds for which an answer that is too old is given once more while a new one is made. Default 0. */
  readonly staleWhileRevalidate?: number;
  /** Seconds for which an answer that is too old is given in place of a 5xx. Default 0. */
  readonly staleIfError?: number;
  /** Bytes that all answers together may take; beyond it those not asked for longest go. Default 64 MiB. */
  readonly maxSize?: number;
  /** Bytes that one answer may take. Default 4 MiB. */
  readonly maxEntrySize?: number;
  /** Where answers are kept. Default: the key-value store where one is enabled, else in this process. */
  readonly store?: CacheStore;
}

export interface CacheRouteOptions {
  readonly ttl?: number;
  /** Names by which `invalidateCache` finds the answers of this route. */
  readonly tags?: readonly string[];
  /** Header fields of the request on which the answer depends, beside those that its `Vary` names. */
  readonly vary?: readonly string[];
  /**
   * Answers to requests with Authorization, with cookies, or that were authenticated: "bypass" keeps none, "share" keeps
   * one for everybody, "vary" keeps one for each. Default "bypass".
   */
  readonly credentials?: CacheCredentials;
  readonly staleWhileRevalidate?: number;
  readonly staleIfError?: number;
}

/** What holds for the answers of one route. Times are in milliseconds. */
export interface CachePlan {
  readonly ttl: number;
  readonly tags: readonly string[];
  /** In lower case. */
  readonly vary: readonly string[];
  readonly credentials: CacheCredentials;
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  readonly maxEntrySize: number;
}

const seconds = is.number(0, 31_536_000);
const names: Check = is.list((item) => (typeof item === "string" && isToken(item) ? undefined : "a name"));

const checks: Checks<CacheOptions> = {
  ttl: seconds,
  methods: is.list((item) => (/^(?:get|head)$/i.test(String(item)) ? undefined : "GET or HEAD")),
  excludePaths: is.list(is.path),
  staleWhileRevalidate: seconds,
  staleIfError: seconds,
  maxSize: is.integer(0),
  maxEntrySize: is.integer(0),
  store: is.object,
};

const routeChecks: Checks<CacheRouteOptions> = {
  ttl: seconds,
  tags: is.list(is.text),
  vary: names,
  credentials: is.oneOf("bypass", "share", "vary"),
  staleWhileRevalidate: seconds,
  staleIfError: seconds,
};

/** Takes what `enableCaching` was called with. */
export function readCacheCall(args: readonly unknown[]): CacheOptions {
  return readCall<CacheOptions>("enableCaching()", args, ["ttl", "methods", "excludePaths"], checks);
}

/** What holds for a route by its option and those of the application; null where answers are not kept. */
export function cachePlan(option: unknown, general: CacheOptions | null): CachePlan | null {
  if (option === false || (option === undefined && general === null)) return null;
  const own = option === undefined || option === true ? {} : readRouteOption(option);
  const given = { ...general, ...own };
  return {
    ttl: (given.ttl ?? 300) * 1000,
    tags: (own.tags ?? []).map(boundedText),
    vary: (own.vary ?? []).map((name) => name.toLowerCase()),
    credentials: own.credentials ?? "bypass",
    staleWhileRevalidate: (given.staleWhileRevalidate ?? 0) * 1000,
    staleIfError: (given.staleIfError ?? 0) * 1000,
    maxEntrySize: general?.maxEntrySize ?? 4_194_304,
  };
}

/** What the route option `cache` may be. Throws where a field of it is wrong, and names it. */
export function isCacheOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "object" || value === null) return "an object of options, or true or false";
  readRouteOption(value);
  return undefined;
}

function readRouteOption(option: unknown): CacheRouteOptions {
  return readOptions<CacheRouteOptions>("the route option 'cache'", option, routeChecks);
}
