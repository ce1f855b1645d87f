import type { Logger } from "../../kit/logger.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { RateLimitConfig } from "./config.js";
import { limited, RateLimit } from "./rate-limit.js";
import type { RateLimitStore } from "./store.js";

type One = Exclude<ConstructorParameters<typeof RateLimitConfig>[0], number | undefined> | RateLimitConfig;
type Given = One | readonly One[] | false;

/** Gives each route its limits: its own, or the general ones. `fallback` counts while a store fails. */
export function rateLimits(
  general: readonly RateLimitConfig[] | null,
  store: RateLimitStore,
  fallback: RateLimitStore,
  logger: Logger,
): Middleware {
  const limits = new Map<unknown, RateLimit>();
  const limitOf = (given: One, name: string): RateLimit => {
    let limit = limits.get(given);
    if (limit === undefined) {
      const config = RateLimitConfig.from([given]);
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
      const name = given === general ? "app" : `${methods.join(",")} ${pattern}`;
      const list = (Array.isArray(given) ? given : [given]) as readonly One[];
      const all = list.map((one, i) => limitOf(one, i === 0 ? name : `${name} ${i + 1}`));
      // A request counts for the limits up to the one that refuses it: the shortest window refuses most of them.
      all.sort((one, other) => one.windowMs - other.windowMs);
      return { wrap: (next, onError) => limited(all, next, onError) };
    },
  };
}
