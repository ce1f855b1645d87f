import { isToken } from "../../http/headers.js";
import { requestMethods } from "../../http/methods.js";
import { type Check, type Checks, is, readCall, readOptions } from "../../internal/options.js";
import { boundedText } from "./bounded-text.js";
import type { CacheStore } from "./store.js";

/** The handling of requests that carry credentials. */
export type CacheCredentials = "bypass" | "share" | "vary";

export interface CacheOptions {
  /** Seconds for which a response is cached that does not state its own lifetime. Default 300. */
  readonly ttl?: number;
  /**
   * Methods whose responses are cached. Default GET and HEAD. The body of a request with another method is part of the
   * key; a handler then runs once for equal requests, so it must not change anything.
   */
  readonly methods?: readonly string[];
  /** Paths that are not cached, with everything below them; "/" is that page alone. */
  readonly excludePaths?: readonly string[];
  /** Seconds for which a stale response is still sent while a new one is made. Default 0. */
  readonly staleWhileRevalidate?: number;
  /** Seconds for which a stale response is sent in place of a 5xx. Default 0. */
  readonly staleIfError?: number;
  /** Bytes that all responses together may take; beyond it the least recently used are dropped. Default 64 MiB. */
  readonly maxSize?: number;
  /** Bytes that one response may take. Default 4 MiB. */
  readonly maxEntrySize?: number;
  /** The store of the responses. Default: the key-value store if one is enabled, else the memory of each worker. */
  readonly store?: CacheStore;
}

export interface CacheRouteOptions {
  /** Seconds for which a response is cached that does not state its own lifetime. */
  readonly ttl?: number;
  /** Tags of the responses of this route, for `invalidateCache`. */
  readonly tags?: readonly string[];
  /** Header fields of the request on which the response depends, beside those that its `Vary` names. */
  readonly vary?: readonly string[];
  /**
   * Responses to requests with Authorization, with cookies, or that were authenticated: "bypass" caches none, "share"
   * caches one for everybody, "vary" caches one for each client. Default "bypass".
   */
  readonly credentials?: CacheCredentials;
  /** Seconds for which a stale response is sent while a new one is made. */
  readonly staleWhileRevalidate?: number;
  /** Seconds for which a stale response is sent if a new one fails. */
  readonly staleIfError?: number;
}

/** The settings of one route. Times are in milliseconds. */
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
  methods: is.list((item) => (requestMethods.includes(String(item).toUpperCase()) ? undefined : "a method")),
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

/** Reads the arguments of `enableCaching`. */
export function readCacheCall(args: readonly unknown[]): CacheOptions {
  return readCall<CacheOptions>("enableCaching()", args, ["ttl", "methods", "excludePaths"], checks);
}

/** The settings of a route by its option and those of the application; null if it is not cached. */
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

/** Checks the route option `cache`. Throws if a field of it is wrong, and names it. */
export function isCacheOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "object" || value === null) return "an object of options, or true or false";
  readRouteOption(value);
  return undefined;
}

function readRouteOption(option: unknown): CacheRouteOptions {
  return readOptions<CacheRouteOptions>("the route option 'cache'", option, routeChecks);
}
