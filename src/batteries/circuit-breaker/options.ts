import { type Checks, is, readCall, readOptions } from "../../internal/options.js";
import type { BreakerStore } from "./store.js";

export interface BreakerOptions {
  /** Failures in a row that open the circuit. Default 5. */
  readonly failureThreshold?: number;
  /** Seconds for which it stays open. Default 30. */
  readonly resetTimeout?: number;
  /** Successes that close it again; as many requests are let through at a time to find out. Default 3. */
  readonly halfOpenTarget?: number;
  /** Statuses that are failures. Default 500, 502, 503 and 504. */
  readonly failureCodes?: readonly number[];
}

export interface CircuitBreakerOptions extends BreakerOptions {
  /** The store of the state. Default: the key-value store if one is enabled, else the memory of the server. */
  readonly store?: BreakerStore;
}

export type BreakerSettings = Required<BreakerOptions> & Pick<CircuitBreakerOptions, "store">;

const checks: Checks<BreakerOptions> = {
  failureThreshold: is.integer(1),
  resetTimeout: is.number(0.001, 2_147_483),
  halfOpenTarget: is.integer(1),
  failureCodes: is.list(is.integer(200, 599)),
};

const callChecks: Checks<CircuitBreakerOptions> = { ...checks, store: is.object };

const order = ["failureThreshold", "resetTimeout", "halfOpenTarget", "failureCodes"] as const;

const defaults: BreakerSettings = {
  failureThreshold: 5,
  resetTimeout: 30,
  halfOpenTarget: 3,
  failureCodes: [500, 502, 503, 504],
};

/** Reads the arguments of `enableCircuitBreaker`. */
export function readBreakerCall(args: readonly unknown[]): BreakerSettings {
  return { ...defaults, ...readCall<CircuitBreakerOptions>("enableCircuitBreaker()", args, order, callChecks) };
}

/** The settings of a route: its option over those of the application, over the defaults; null for no breaker. */
export function breakerSettings(option: unknown, general: BreakerSettings | null): BreakerSettings | null {
  if (option === undefined) return general;
  if (option === false) return null;
  return { ...defaults, ...general, ...readRouteOption(option) };
}

/** Checks the route option `circuitBreaker`. Throws if a field of it is wrong, and names it. */
export function isBreakerOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "object" || value === null) return "an object of options, or true or false";
  readRouteOption(value);
  return undefined;
}

function readRouteOption(option: unknown): BreakerOptions {
  return option === true ? {} : readOptions<BreakerOptions>("the route option 'circuitBreaker'", option, checks);
}
