import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { Duration } from "../../kit/time/duration.js";
import { settingsOf } from "../../routing/definition.js";
import type { HealthResult } from "../health/check.js";
import { registerHealthCheck } from "../health/feature.js";
import { meterOf } from "../metrics/feature.js";
import {
  type BreakerOptions,
  type BreakerSettings,
  breakerOptions,
  type CircuitBreakerOptions,
  isBreakerOption,
} from "./options.js";
import type { Breaker, BreakerSnapshot, BreakerStore } from "./store.js";

export interface CircuitBreakerFeature {
  /** Gives every route a circuit, which opens when its responses fail repeatedly. */
  enableCircuitBreaker(
    failureThresholdOrOptions?: number | EitherSpelling<CircuitBreakerOptions>,
    resetTimeout?: Duration,
    halfOpenTarget?: number,
    failureCodes?: readonly number[],
  ): this;
  /** The current state of all circuits; none before the start. */
  circuitBreakers(): Promise<BreakerSnapshot[]>;
}

interface CircuitBreakerOption {
  /** The circuit of this route, with or without `enableCircuitBreaker()`; false for none. */
  readonly circuitBreaker?: EitherSpelling<BreakerOptions> | boolean;
}

declare module "../../routing/options.js" {
  interface HttpRouteOptions extends CircuitBreakerOption {}
  interface BlueprintOptions extends CircuitBreakerOption {}
}

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    circuits: BreakerStore;
  }
}

interface State {
  general: BreakerSettings | null;
  readonly breakers: Breaker[];
}

const stateOf = perHost((): State => ({ general: null, breakers: [] }));

export const circuitBreakerFeature = feature<CircuitBreakerFeature>({
  name: "circuit breaker",
  setup: {
    enableCircuitBreaker(host, ...given) {
      stateOf(host).general = breakerOptions.read(given);
    },
  },
  methods: { circuitBreakers: (host) => snapshots(host) },
  routeOptions: { circuitBreaker: { check: isBreakerOption, blueprint: true } },
  async prepare(host) {
    const { general, breakers } = stateOf(host);
    if (general === null && !host.routes.some((route) => settingsOf(route).circuitBreaker)) return;
    const { circuitBreakers } = await import("./circuit-breakers.js");
    const { MemoryBreakerStore } = await import("./memory-breaker.js");
    const store = host.store("circuits", {
      holds: "circuits",
      given: general?.store,
      local: () => new MemoryBreakerStore(),
    });
    host.use(circuitBreakers(general, store, host.logger, (breaker) => breakers.push(breaker)));
    registerHealthCheck(host, "circuits", () => healthOf(host), { critical: false, on: [] });
    showMetric(host);
  },
});

/** True if every route has a circuit, unless it opts out. */
export function breaksAllCircuits(host: Host): boolean {
  return stateOf(host).general !== null;
}

function snapshots(host: Host): Promise<BreakerSnapshot[]> {
  return Promise.all(stateOf(host).breakers.map((breaker) => breaker.snapshot()));
}

async function healthOf(host: Host): Promise<HealthResult> {
  const impaired = (await snapshots(host)).filter((circuit) => circuit.state !== "closed");
  if (impaired.length === 0) return "UP";
  return { status: "DEGRADED", message: impaired.map(({ route, state }) => `${route} is ${state}`).join(", ") };
}

function showMetric(host: Host): void {
  const meter = meterOf(host);
  meter?.metrics.gauge(meter.named("circuit_breaker_state"), {
    help: "State of the circuit of a route: 0 closed, 1 half-open, 2 open.",
    labels: ["route"],
    merge: "max",
    maxSeries: Math.max(1000, host.routes.length),
    collect: async (gauge) => {
      for (const { route, state } of await snapshots(host)) gauge.set({ route }, levels[state]);
    },
  });
}

const levels = { closed: 0, "half-open": 1, open: 2 } as const;
