import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { BreakerStore } from "./store.js";

const fields = {
  /** Failures in a row that open the circuit. Default 5. */
  failureThreshold: option(is.integer(1), 5),
  /** Time for which it stays open. Default 30 seconds. */
  resetTimeout: option.duration("30s", "1ms", "24d"),
  /** Successes that close it again; as many requests are let through at a time to find out. Default 3. */
  halfOpenTarget: option(is.integer(1), 3),
  /** Statuses that are failures. Default 500, 502, 503 and 504. */
  failureCodes: option(is.list(is.integer(200, 599)), [500, 502, 503, 504]),
};

export const breakerOptions = options(
  "enableCircuitBreaker()",
  {
    ...fields,
    /** The store of the state. Default: the key-value store if one is enabled, else the memory of the server. */
    store: option<BreakerStore>(is.object),
  },
  { order: ["failureThreshold", "resetTimeout", "halfOpenTarget", "failureCodes"] },
);

const routeOption = options("the route option 'circuitBreaker'", fields);

export interface CircuitBreakerOptions extends OptionsOf<typeof breakerOptions.fields> {}
export interface BreakerOptions extends OptionsOf<typeof fields> {}
export type BreakerSettings = SettingsOf<typeof breakerOptions.fields>;

/** The settings of a route: its option over those of the application, over the defaults; null for no breaker. */
export function breakerSettings(option: unknown, general: BreakerSettings | null): BreakerSettings | null {
  if (option === undefined) return general;
  if (option === false) return null;
  return { ...(general ?? breakerOptions.read([])), ...routeOption.readGiven(option === true ? [] : [option]) };
}

/** Checks the route option `circuitBreaker`. Throws if a field of it is wrong, and names it. */
export function isBreakerOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "object" || value === null) return "an object of options, or true or false";
  routeOption.readGiven([value]);
  return undefined;
}
