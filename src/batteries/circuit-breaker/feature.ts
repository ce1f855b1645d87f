import { type FeatureHost, type FeatureMethods, slot } from "../../feature/feature.js";
import { keepsPerProcess, sharedStores } from "../../feature/shared-state.js";
import type { EitherSpelling } from "../../internal/names.js";
import type { Middleware } from "../../pipeline/middleware.js";
import { settingsOf } from "../../route/route.js";
import type { HealthResult } from "../health/check.js";
import { registerHealthCheck } from "../health/feature.js";
import { metricsFeature, metricsOf } from "../metrics/feature.js";
import { type BreakerSettings, type CircuitBreakerOptions, readBreakerCall } from "./options.js";
import type { Breaker, BreakerSnapshot } from "./store.js";

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
  breakers: Breaker[];
}

function snapshots({ breakers }: State): Promise<BreakerSnapshot[]> {
  return Promise.all(breakers.map((breaker) => breaker.snapshot()));
}

function stateOf(host: FeatureHost): State {
  return slot(host, circuitBreakerFeature, () => ({ general: null, breakers: [] }));
}

/** Routes may have a circuit where the application has none, so it is known only at the start whether there are any. */
export function startCircuitBreaker(host: FeatureHost): Promise<Middleware> | null {
  const state = stateOf(host);
  if (state.general === null && !host.routes.some((route) => settingsOf(route)["circuitBreaker"])) return null;
  const shared = state.general?.store ?? sharedStores(host).circuitBreaker;
  if (shared === null) keepsPerProcess(host, "circuits");
  registerHealthCheck(host, "circuits", () => healthOf(state), { critical: false, on: [] });
  showMetric(host, state);
  const { general, breakers } = state;
  return import("../../app/features/enabled.js").then(({ circuitBreakers }) =>
    circuitBreakers(general, shared, host.logger, (breaker) => breakers.push(breaker)),
  );
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
