import type { CacheStore } from "../batteries/cache/store.js";
import type { BreakerStore } from "../batteries/circuit-breaker/store.js";
import type { RateLimitStore } from "../batteries/rate-limit/store.js";
import { type FeatureHost, slot } from "./feature.js";

/** Where features keep what all workers and machines should see. An engine fills in what it can keep. */
export interface SharedStores {
  rateLimit: RateLimitStore | null;
  cache: CacheStore | null;
  circuitBreaker: BreakerStore | null;
}

/** To be filled before the application starts. */
export function sharedStores(host: FeatureHost): SharedStores {
  return slot(host, sharedStores, () => ({ rateLimit: null, cache: null, circuitBreaker: null }));
}

/** Notes that each process keeps something for itself. Several workers say so once, the first of them. */
export function keepsPerProcess(host: FeatureHost, what: string): void {
  const noted = slot(host, keepsPerProcess, () => {
    const list: string[] = [];
    host.beforeStartup(async () => {
      if (host.settings.workers < 2) return;
      const { default: cluster } = await import("node:cluster");
      if (cluster.worker !== undefined && cluster.worker.id !== 1) return;
      host.logger.warn(
        `each of the ${host.settings.workers} workers has its own ${list.join(", ")}: enable a key-value store to share`,
      );
    });
    return list;
  });
  noted.push(what);
}
