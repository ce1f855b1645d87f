import type { EitherSpelling } from "../../internal/names.js";
import { RateLimitConfig, type RateLimitOptions } from "../../middleware/rate-limit/config.js";
import { MemoryRateLimitStore } from "../../middleware/rate-limit/memory-store.js";
import { RateLimit } from "../../middleware/rate-limit/rate-limit.js";
import type { FeatureHost, FeatureMethods } from "../feature.js";
import { settingsOf } from "../route.js";
import { keepsPerProcess, sharedStores } from "../shared-state.js";

export interface RateLimitFeature {
  /** Limits how often a client may ask: 100 times in 60 seconds, unless a config says otherwise. */
  enableRateLimit(config?: RateLimitConfig | EitherSpelling<RateLimitOptions> | null): this;
}

export const rateLimitFeature: FeatureMethods<RateLimitFeature> = {
  enableRateLimit(config) {
    this.assertOpen("enableRateLimit()");
    this.slots.set(rateLimitFeature, RateLimitConfig.from(config));
    return this;
  },
};

type Given = ConstructorParameters<typeof RateLimitConfig>[0] | RateLimitConfig | false;

/** Routes may have a limit where the application has none, so it is known only at the start whether there are any. */
export function startRateLimit(host: FeatureHost): void {
  const general = host.slots.get(rateLimitFeature) as RateLimitConfig | undefined;
  const own = host.routes.some((route) => settingsOf(route)["rateLimit"]);
  if (general === undefined && !own) return;
  const shared = sharedStores(host).rateLimit;
  if (shared === null) keepsPerProcess(host, "counts of the rate limit");
  const store = shared ?? new MemoryRateLimitStore();
  const limits = new Map<unknown, RateLimit>();
  const limitOf = (given: Given, name: string): RateLimit => {
    let limit = limits.get(given);
    if (limit === undefined) {
      const config = RateLimitConfig.from(given || undefined);
      limit = new RateLimit(name, config, config.store ?? store, host.logger);
      limits.set(given, limit);
    }
    return limit;
  };
  host.addFeature({
    name: "rate-limit",
    slot: "rate-limit",
    early: true,
    forRoute({ pattern, methods, options }) {
      const given = (options["rateLimit"] ?? general) as Given | undefined;
      if (given === undefined || given === false) return null;
      const limit = limitOf(given, given === general ? "app" : `${methods.join(",")} ${pattern}`);
      return { wrap: (next, onError) => limit.wrap(next, onError) };
    },
  });
}
