import { AsyncLocalStorage } from "node:async_hooks";
import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import { notStarted } from "../../kit/before-start.js";
import type { EitherSpelling } from "../../kit/names.js";
import { show } from "../../kit/options.js";
import type { Duration } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { settingsOf } from "../../routing/definition.js";
import type { DataCache } from "./data-cache.js";
import type { Jsonified } from "./jsonified.js";
import {
  type CacheOptions,
  type CacheRouteOptions,
  type CacheSettings,
  cacheOptions,
  isCacheOption,
  type ValueCacheOptions,
} from "./options.js";
import type { ResponseCache } from "./response-cache.js";
import type { CacheStore } from "./store.js";
import type { StoreCalls } from "./store-calls.js";

export interface CachingFeature {
  /** Caches responses to GET and HEAD and reuses them for identical requests. */
  enableCaching(
    ttlOrOptions?: Duration | EitherSpelling<CacheOptions>,
    methods?: readonly string[],
    excludePaths?: readonly string[],
  ): this;
  /**
   * Drops all cached responses and values that carry one of the tags; those under way are not stored either. Returns the
   * number dropped: at once, or as a promise if the store is shared.
   */
  invalidateCache(tags: readonly string[] | string): number | Promise<number>;
  /** Values of the application, in the same store as cached responses. Needs no `enableCaching()`. */
  readonly cache: ValueCache;
}

export interface ValueCache {
  /**
   * The value of a key: the cached one, or else the one that `make` returns, which is cached as JSON. Each caller gets its own
   * copy. One call at a time makes the value, in all processes that share a key-value store; the others wait for it.
   */
  fetch<T>(key: string, options: EitherSpelling<ValueCacheOptions>, make: () => T): Promise<Jsonified<Awaited<T>>>;
}

interface CacheOption {
  /** Caching of this route, with or without `enableCaching()`; false for none. */
  readonly cache?: EitherSpelling<CacheRouteOptions> | boolean;
}

declare module "../../routing/options.js" {
  interface HttpRouteOptions extends CacheOption {}
  interface BlueprintOptions extends CacheOption {}
}

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    cache: CacheStore;
  }
}

interface State {
  general: CacheSettings | null;
  /** Null before the start, and where nothing is cached. */
  cache: ResponseCache | null;
  readonly values: ValueCache;
  shared: Shared | null;
  /** Until then the store is being made. */
  opening: Promise<Shared> | null;
  /** Calls back outside of every request; null before the start. */
  detached: (<T>(run: () => T) => T) | null;
}

/** The store that responses and values have in common. */
interface Shared {
  readonly store: CacheStore;
  readonly calls: StoreCalls;
  readonly data: DataCache;
}

const stateOf = perHost((host): State => {
  const values: ValueCache = {
    // Each caller's copy has the type that JSON has made of it.
    fetch: async (key, options, make) => (await sharedOf(host)).data.fetch(key, options, make) as never,
  };
  return { general: null, cache: null, values, shared: null, opening: null, detached: null };
});

/** Made with the first use: most applications cache nothing. */
function sharedOf(host: Host): Shared | Promise<Shared> {
  const state = stateOf(host);
  const { detached } = state;
  // Engines offer their stores at the start.
  if (detached === null) throw new Error(notStarted("app.cache"));
  return state.shared ?? (state.opening ??= open(host, state, detached));
}

async function open(host: Host, state: State, detached: NonNullable<State["detached"]>): Promise<Shared> {
  const { general } = state;
  const [{ DataCache }, { defaultMaxSize, MemoryCacheStore }, { StoreCalls }] = await Promise.all([
    import("./data-cache.js"),
    import("./memory-store.js"),
    import("./store-calls.js"),
  ]);
  const store = host.store("cache", {
    holds: "cache",
    given: general?.store,
    local: () => new MemoryCacheStore(general?.maxSize ?? defaultMaxSize),
  });
  const calls = new StoreCalls(host.logger);
  const { maxEntrySize } = general ?? cacheOptions.read([]);
  return (state.shared = { store, calls, data: new DataCache(store, calls, maxEntrySize, host.logger, detached) });
}

export const cachingFeature = feature<CachingFeature>({
  name: "response cache",
  setup: {
    enableCaching(host, ...given) {
      stateOf(host).general = cacheOptions.read(given);
    },
  },
  values: { cache: (host) => stateOf(host).values },
  methods: {
    invalidateCache(host, tags) {
      const list = typeof tags === "string" ? [tags] : tags;
      if (!Array.isArray(list) || !list.every((tag) => typeof tag === "string")) {
        throw new ValueError(`invalidateCache() takes a list of tags, not ${show(tags)}`);
      }
      if (stateOf(host).detached === null) return 0;
      // Other processes may have values although this one has none.
      const shared = sharedOf(host);
      if (!(shared instanceof Promise)) return shared.calls.invalidate(shared.store, list);
      return shared.then(({ calls, store }) => calls.invalidate(store, list));
    },
  },
  routeOptions: { cache: { check: isCacheOption, blueprint: true } },
  async prepare(host) {
    const state = stateOf(host);
    const { general } = state;
    state.detached = AsyncLocalStorage.snapshot();
    if (general === null && !host.routes.some((route) => settingsOf(route).cache)) return;
    const { ResponseCache } = await import("./response-cache.js");
    const { store, calls } = await sharedOf(host);
    const cache = new ResponseCache(store, general, host.settings.requestTimeout, calls);
    state.cache = cache;
    host.use({ name: "cache", slot: "cache", early: true, forRoute: (route) => cache.forRoute(route) });
  },
  review(host) {
    const { general } = stateOf(host);
    const cached = new Set(["GET", "HEAD", ...(general?.methods ?? [])].map((method) => method.toUpperCase()));
    const never = host.routes.filter(
      ({ options, methods }) => options.cache && !methods.some((name) => cached.has(name)),
    );
    return [
      ...cacheOptions.idle(general),
      general?.maxSize !== undefined &&
        general.store === undefined &&
        host.shares("cache") &&
        "option 'maxSize' in enableCaching() has no effect: it bounds the responses in memory, and a key-value store is enabled",
      ...never.map(
        ({ methods, path }) =>
          `option 'cache' of the route ${methods.join(", ")} ${path} has no effect: name its method in \`methods\` of enableCaching()`,
      ),
    ];
  },
  async close(host) {
    const { cache, shared } = stateOf(host);
    await Promise.all([cache?.settled(), shared?.data.settled()]);
  },
});
