import type { Logger } from "../../kit/logger.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { RateLimitConfig } from "./config.js";
import { RateLimit } from "./rate-limit.js";
import type { RateLimitStore } from "./store.js";

type Given = ConstructorParameters<typeof RateLimitConfig>[0] | RateLimitConfig | false;

/** Gives each route its limit: its own, or the general one. `fallback` counts while a store fails. */
export function rateLimits(
  general: RateLimitConfig | null,
  store: RateLimitStore,
  fallback: RateLimitStore,
  logger: Logger,
): Middleware {
  const limits = new Map<unknown, RateLimit>();
  const limitOf = (given: Given, name: string): RateLimit => {
    let limit = limits.get(given);
    if (limit === undefined) {
      const config = RateLimitConfig.from([given || undefined]);
      limit = new RateLimit(name, config, config.store ?? store, fallback, logger);
      limits.set(given, limit);
    }
    return limit;
  };
  return {
    name: "rate-limit",
    slot: "rate-limit",
    early: true,
    forRoute({ pattern, methods, options }) {
      const given = (options["rateLimit"] ?? general) as Given | null | undefined;
      if (given === undefined || given === null || given === false) return null;
      const limit = limitOf(given, given === general ? "app" : `${methods.join(",")} ${pattern}`);
      return { wrap: (next, onError) => limit.wrap(next, onError) };
    },
  };
}
