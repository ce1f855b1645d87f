import type { Logger } from "../../kit/logger.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import { type BreakerSettings, breakerSettings } from "./options.js";
import type { Breaker, BreakerStore } from "./store.js";

/** Gives each route its circuit, and reports it to `onMade`. */
export function circuitBreakers(
  general: BreakerSettings | null,
  store: BreakerStore,
  logger: Logger,
  onMade: (breaker: Breaker) => void,
): Middleware {
  return {
    name: "circuit-breaker",
    slot: "circuit-breaker",
    early: true,
    forRoute({ pattern, methods, websocket, internal, options }) {
      const settings = breakerSettings(options["circuitBreaker"], general);
      if (settings === null || pattern === null || websocket || internal) return null;
      const breaker = new CircuitBreaker(`${methods.join(",")} ${pattern}`, settings, store, logger);
      onMade(breaker.breaker);
      return { wrap: (next, onError) => breaker.wrap(next, onError) };
    },
  };
}
