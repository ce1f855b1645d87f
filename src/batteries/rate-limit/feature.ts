import type { FeatureHost, FeatureMethods } from "../../feature/feature.js";
import { keepsPerProcess, sharedStores } from "../../feature/shared-state.js";
import type { EitherSpelling } from "../../internal/names.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { settingsOf } from "../../route/route.js";
import { RateLimitConfig, type RateLimitOptions } from "./config.js";

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

/** Routes may have a limit where the application has none, so it is known only at the start whether there are any. */
export function startRateLimit(host: FeatureHost): Promise<Middleware> | null {
  const general = host.slots.get(rateLimitFeature) as RateLimitConfig | undefined;
  const own = host.routes.some((route) => settingsOf(route)["rateLimit"]);
  if (general === undefined && !own) return null;
  const shared = sharedStores(host).rateLimit;
  if (shared === null) keepsPerProcess(host, "counts of the rate limit");
  return import("../../app/features/enabled.js").then(({ rateLimits }) => rateLimits(general, shared, host.logger));
}
