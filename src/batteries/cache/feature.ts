import { type FeatureHost, type FeatureMethods, slot } from "../../feature/feature.js";
import { keepsPerProcess, sharedStores } from "../../feature/shared-state.js";
import type { EitherSpelling } from "../../internal/names.js";
import { show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { settingsOf } from "../../route/route.js";
import { type CacheOptions, readCacheCall } from "./options.js";
import type { ResponseCache } from "./response-cache.js";
import type { CacheStore } from "./store.js";

export interface CachingFeature {
  /** Keeps answers to GET and HEAD, and gives them again to others who ask the same. */
  enableCaching(
    ...given:
      | [options?: EitherSpelling<CacheOptions>]
      | [ttl: number, methods?: readonly string[], excludePaths?: readonly string[]]
  ): this;
  /**
   * Forgets every answer that carries one of the tags; those that are being made are not kept either. Gives the number of
   * answers forgotten: at once, or as a promise where the store is shared.
   */
  invalidateCache(tags: readonly string[] | string): number | Promise<number>;
}

export const cachingFeature: FeatureMethods<CachingFeature> = {
  enableCaching(...given) {
    this.assertOpen("enableCaching()");
    stateOf(this).general = readCacheCall(given);
    return this;
  },
  invalidateCache(tags) {
    const list = typeof tags === "string" ? [tags] : tags;
    if (!Array.isArray(list) || !list.every((tag) => typeof tag === "string")) {
      throw new ValueError(`invalidateCache() takes a list of tags, not ${show(tags)}`);
    }
    const done = stateOf(this).cache?.invalidate(list) ?? 0;
    // Who waits for it is told of a failure; who does not must not bring the process down.
    if (done instanceof Promise)
      done.catch((error: unknown) => this.logger.error("invalidateCache() failed", { error }));
    return done;
  },
};

interface State {
  general: CacheOptions | null;
  cache: ResponseCache | null;
}

function stateOf(host: FeatureHost): State {
  return slot(host, cachingFeature, () => ({ general: null, cache: null }));
}

/** Routes may be cached where the application is not, so it is known only at the start whether there are any. */
export function startCaching(host: FeatureHost): Promise<Middleware> | null {
  const { general } = stateOf(host);
  if (general === null && !host.routes.some((route) => settingsOf(route)["cache"])) return null;
  const shared = general?.store ?? sharedStores(host).cache;
  if (shared === null) keepsPerProcess(host, "response cache");
  return loadCache(host, shared);
}

async function loadCache(host: FeatureHost, store: CacheStore | null): Promise<Middleware> {
  const { ResponseCache } = await import("../../app/features/enabled.js");
  const state = stateOf(host);
  const cache = new ResponseCache(store, state.general, host.settings.requestTimeout, host.logger);
  state.cache = cache;
  return { name: "cache", slot: "cache", early: true, forRoute: (route) => cache.forRoute(route) };
}
