import { isToken } from "../../http/fields/headers.js";
import { requestMethods } from "../../http/methods.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is } from "../../kit/options.js";
import { milliseconds } from "../../kit/time/duration.js";
import { boundedText } from "./bounded-text.js";
import type { CacheStore } from "./store.js";

/** The handling of requests that carry credentials. */
export type CacheCredentials = "bypass" | "share" | "vary";

const areNames: Check<readonly string[]> = is.list((item) =>
  typeof item === "string" && isToken(item) ? undefined : "a name",
);
const isMethod: Check = (item) => (requestMethods.includes(String(item).toUpperCase()) ? undefined : "a method");
const areMethods: Check<readonly string[]> = (value) =>
  Array.isArray(value) && value.length === 0 ? "a list that is not empty" : is.list(isMethod)(value);

export const cacheOptions = options(
  "enableCaching()",
  {
    /** Time for which a response is cached that does not state its own lifetime. Default 5 minutes. */
    ttl: option.duration("5m", 0, "365d"),
    /**
     * Methods whose responses are cached. Default GET and HEAD. The body of a request with another method is part of the
     * key; a handler then runs once for equal requests, so it must not change anything.
     */
    methods: option(areMethods),
    /** Paths that are not cached, with everything below them; "/" is that page alone. */
    excludePaths: option(is.list(is.path)),
    /** Time for which a stale response is still sent while a new one is made. Default 0. */
    staleWhileRevalidate: option.duration(0, 0, "365d"),
    /** Time for which a stale response is sent in place of a 5xx. Default 0. */
    staleIfError: option.duration(0, 0, "365d"),
    /** Bytes that all responses together may take; beyond it the least recently used are dropped. Default 64 MiB. */
    maxSize: option(is.integer(0)),
    /** Bytes that one response may take. Default 4 MiB. */
    maxEntrySize: option(is.integer(0), 4_194_304, "4 MiB"),
    /** The store of the responses. Default: the key-value store if one is enabled, else the memory of each worker. */
    store: option<CacheStore>(is.object),
  },
  {
    order: ["ttl", "methods", "excludePaths"],
    idle: ({ store, maxSize, maxEntrySize }) => ({
      maxSize: store !== undefined && "it bounds the responses in memory, and the given store has its own bound",
      maxEntrySize: maxSize !== undefined && maxEntrySize > maxSize && "it is larger than maxSize",
    }),
  },
);

const routeOption = options("the route option 'cache'", {
  /** Time for which a response is cached that does not state its own lifetime. */
  ttl: option.duration(null, 0, "365d"),
  /** Tags of the responses of this route, for `invalidateCache`. */
  tags: option(is.list(is.text)),
  /** Header fields of the request on which the response depends, beside those that its `Vary` names. */
  vary: option(areNames),
  /**
   * Responses to requests with Authorization, with cookies, or that were authenticated: "bypass" caches none, "share"
   * caches one for all clients, "vary" caches one for each client. Default "bypass".
   */
  credentials: option<CacheCredentials>(is.oneOf("bypass", "share", "vary")),
  /** Time for which a stale response is sent while a new one is made. */
  staleWhileRevalidate: option.duration(null, 0, "365d"),
  /** Time for which a stale response is sent if a new one fails. */
  staleIfError: option.duration(null, 0, "365d"),
});

export const dataOptions = options("app.cache.fetch()", {
  /** Time for which the value is used. Default 5 minutes. */
  ttl: option.duration("5m", 0, "365d"),
  /** Names for `invalidateCache`, beside the key itself. */
  tags: option<readonly string[]>(is.list(is.text), []),
  /** The random share of `ttl` that is taken off, so that values that were made together do not expire together. Default 0.1. */
  jitter: option(is.number(0, 1), 0.1),
  /** Time after expiry in which the old value is returned while a new one is made. Default 0. */
  staleWhileRevalidate: option.duration(0, 0, "365d"),
  /** Time after expiry in which the old value is returned if making a new one fails. Default 0. */
  staleIfError: option.duration(0, 0, "365d"),
  /** Longest wait for a value that another call makes; after it this call makes the value too. Default 10 seconds. */
  wait: option.duration("10s", 0, "1d"),
  /** Time after which another process makes the value if the one that was making it has died. Default 6 seconds. */
  lease: option.duration("6s", "10ms", "1h"),
});

export interface ValueCacheOptions extends OptionsOf<typeof dataOptions.fields> {}
export interface CacheOptions extends OptionsOf<typeof cacheOptions.fields> {}
export interface CacheRouteOptions extends OptionsOf<typeof routeOption.fields> {}
export type CacheSettings = SettingsOf<typeof cacheOptions.fields>;

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

/** The settings of a route by its option and those of the application; null if it is not cached. */
export function cachePlan(option: unknown, general: CacheSettings | null): CachePlan | null {
  if (option === false || (option === undefined && general === null)) return null;
  const own = routeOption.readGiven(option === undefined || option === true ? [] : [option]);
  const settings = general ?? cacheOptions.read([]);
  const { ttl, staleWhileRevalidate, staleIfError } = own;
  return {
    ttl: milliseconds(ttl ?? settings.ttl),
    tags: (own.tags ?? []).map(boundedText),
    vary: (own.vary ?? []).map((name) => name.toLowerCase()),
    credentials: own.credentials ?? "bypass",
    staleWhileRevalidate: milliseconds(staleWhileRevalidate ?? settings.staleWhileRevalidate),
    staleIfError: milliseconds(staleIfError ?? settings.staleIfError),
    maxEntrySize: settings.maxEntrySize,
  };
}

/** Checks the route option `cache`. Throws if a field of it is wrong, and names it. */
export function isCacheOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "object" || value === null) return "an object of options, or true or false";
  routeOption.readGiven([value]);
  return undefined;
}
