import type { HealthResult } from "../../health/check.js";
import type { EitherSpelling } from "../../internal/names.js";
import { CircuitBreaker } from "../../middleware/circuit-breaker/circuit-breaker.js";
import { MemoryBreakerStore } from "../../middleware/circuit-breaker/memory-breaker.js";
import {
  type BreakerSettings,
  breakerSettings,
  type CircuitBreakerOptions,
  readBreakerCall,
} from "../../middleware/circuit-breaker/options.js";
import type { BreakerSnapshot } from "../../middleware/circuit-breaker/store.js";
import { type FeatureHost, type FeatureMethods, slot } from "../feature.js";
import { settingsOf } from "../route.js";
import { keepsPerProcess, sharedStores } from "../shared-state.js";
import { registerHealthCheck } from "./health.js";
import { metricsFeature, metricsOf } from "./metrics.js";

export interface CircuitBreakerFeature {
  /** Gives every route a circuit, which opens when its answers fail again and again. */
  enableCircuitBreaker(
    ...given:
      | [options?: EitherSpelling<CircuitBreakerOptions>]
      | [failureThreshold: number, resetTimeout?: number, halfOpenTarget?: number, failureCodes?: readonly number[]]
  ): this;
  /** How the circuits stand; none before the start. */
  circuitBreakers(): Promise<BreakerSnapshot[]>;
}

export const circuitBreakerFeature: FeatureMethods<CircuitBreakerFeature> = {
  enableCircuitBreaker(...given) {
    this.assertOpen("enableCircuitBreaker()");
    stateOf(this).general = readBreakerCall(given);
    return this;
  },
  circuitBreakers() {
    return snapshots(stateOf(this));
  },
};

interface State {
  general: BreakerSettings | null;
  breakers: CircuitBreaker[];
}

function snapshots({ breakers }: State): Promise<BreakerSnapshot[]> {
  return Promise.all(breakers.map(({ breaker }) => breaker.snapshot()));
}

function stateOf(host: FeatureHost): State {
  return slot(host, circuitBreakerFeature, () => ({ general: null, breakers: [] }));
}

/** Routes may have a circuit where the application has none, so it is known only at the start whether there are any. */
export function startCircuitBreaker(host: FeatureHost): void {
  const state = stateOf(host);
  if (state.general === null && !host.routes.some((route) => settingsOf(route)["circuitBreaker"])) return;
  const shared = state.general?.store ?? sharedStores(host).circuitBreaker;
  if (shared === null) keepsPerProcess(host, "circuits");
  const store = shared ?? new MemoryBreakerStore();
  host.addFeature({
    name: "circuit-breaker",
    slot: "circuit-breaker",
    early: true,
    forRoute({ pattern, methods, websocket, internal, options }) {
      const settings = breakerSettings(options["circuitBreaker"], state.general);
      if (settings === null || pattern === null || websocket || internal) return null;
      const breaker = new CircuitBreaker(`${methods.join(",")} ${pattern}`, settings, store, host.logger);
      state.breakers.push(breaker);
      return { wrap: (next, onError) => breaker.wrap(next, onError) };
    },
  });
  registerHealthCheck(host, "circuits", () => healthOf(state), { critical: false, on: [] });
  showMetric(host, state);
}

async function healthOf(state: State): Promise<HealthResult> {
  const impaired = (await snapshots(state)).filter((circuit) => circuit.state !== "closed");
  if (impaired.length === 0) return "UP";
  return { status: "DEGRADED", message: impaired.map(({ route, state }) => `${route} is ${state}`).join(", ") };
}

function showMetric(host: FeatureHost, state: State): void {
  const enabled = host.slots.get(metricsFeature) as { options: { namespace: string } } | undefined;
  if (enabled === undefined) return;
  const { namespace } = enabled.options;
  metricsOf(host).gauge(`${namespace === "" ? "" : `${namespace}_`}circuit_breaker_state`, {
    help: "State of the circuit of a route: 0 closed, 1 half-open, 2 open.",
    labels: ["route"],
    merge: "max",
    maxSeries: Math.max(1000, host.routes.length),
    collect: async (gauge) => {
      for (const { route, state: now } of await snapshots(state)) gauge.set({ route }, levels[now]);
    },
  });
}

const levels = { closed: 0, "half-open": 1, open: 2 } as const;
