import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { Duration } from "../../kit/duration.js";
import type { EitherSpelling } from "../../kit/names.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { settingsOf } from "../../routing/definition.js";
import {
  type CacheOptions,
  type CacheRouteOptions,
  type CacheSettings,
  cacheOptions,
  isCacheOption,
} from "./options.js";
import type { ResponseCache } from "./response-cache.js";
import type { CacheStore } from "./store.js";

export interface CachingFeature {
  /** Caches responses to GET and HEAD and reuses them for identical requests. */
  enableCaching(
    ttlOrOptions?: Duration | EitherSpelling<CacheOptions>,
    methods?: readonly string[],
    excludePaths?: readonly string[],
  ): this;
  /**
   * Drops all cached responses that carry one of the tags; responses under way are not stored either. Returns the number
   * of responses dropped: at once, or as a promise if the store is shared.
   */
  invalidateCache(tags: readonly string[] | string): number | Promise<number>;
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
}

const stateOf = perHost((): State => ({ general: null, cache: null }));

export const cachingFeature = feature<CachingFeature>({
  name: "response cache",
  setup: {
    enableCaching(host, ...given) {
      stateOf(host).general = cacheOptions.read(given);
    },
  },
  methods: {
    invalidateCache(host, tags) {
      const list = typeof tags === "string" ? [tags] : tags;
      if (!Array.isArray(list) || !list.every((tag) => typeof tag === "string")) {
        throw new ValueError(`invalidateCache() takes a list of tags, not ${show(tags)}`);
      }
      return stateOf(host).cache?.invalidate(list) ?? 0;
    },
  },
  routeOptions: { cache: { check: isCacheOption, blueprint: true } },
  async prepare(host) {
    const state = stateOf(host);
    const { general } = state;
    if (general === null && !host.routes.some((route) => settingsOf(route).cache)) return;
    const { defaultMaxSize, ResponseCache } = await import("./response-cache.js");
    const { MemoryCacheStore } = await import("./memory-store.js");
    const store = host.store("cache", {
      holds: "response cache",
      given: general?.store,
      local: () => new MemoryCacheStore(general?.maxSize ?? defaultMaxSize),
    });
    const cache = new ResponseCache(store, general, host.settings.requestTimeout, host.logger);
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
      ...never.map(
        ({ methods, path }) =>
          `option 'cache' of the route ${methods.join(", ")} ${path} has no effect: name its method in \`methods\` of enableCaching()`,
      ),
    ];
  },
  close: (host) => stateOf(host).cache?.settled(),
});
