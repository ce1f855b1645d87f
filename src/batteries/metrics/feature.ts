import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import { type MetricsOptions, type MetricsSettings, metricsOptions } from "./options.js";
import { Metrics } from "./registry.js";

export interface MetricsFeature {
  /** Counts requests and shows the counts at an endpoint, `/metrics` by default, in the format of Prometheus. */
  enableMetrics(
    endpointOrOptions?: string | EitherSpelling<MetricsOptions>,
    namespace?: string,
    subsystem?: string,
  ): this;
  /** Metrics of the application; shown with those of the framework. */
  readonly metrics: Metrics;
}

declare module "../../routing/options.js" {
  interface CommonRouteOptions {
    /** False leaves the route out of the metrics of requests. */
    readonly metrics?: boolean;
  }
}

/** Parts of the metrics that run while the application does. */
interface Running {
  start(): void;
  stop(): void | Promise<void>;
}

interface State {
  readonly registry: Metrics;
  options: MetricsSettings | null;
  running: readonly Running[];
  /** Takes the metrics for the last time. */
  last: (() => Promise<void>) | null;
}

const stateOf = perHost(
  (host): State => ({
    registry: new Metrics((message, error) => host.logger.warn(message, error === undefined ? {} : { error })),
    options: null,
    running: [],
    last: null,
  }),
);

export const metricsFeature = feature<MetricsFeature>({
  name: "metrics",
  setup: {
    enableMetrics(host, ...given) {
      stateOf(host).options = metricsOptions.read(given);
    },
  },
  values: { metrics: (host) => stateOf(host).registry },
  routeOptions: { metrics: { check: is.boolean, websocket: true } },
  async prepare(host) {
    const state = stateOf(host);
    if (state.options === null) return;
    const { addMetrics } = await import("./add-metrics.js");
    state.running = addMetrics(host, state.registry, state.options);
  },
  open(host) {
    for (const part of stateOf(host).running) part.start();
  },
  async close(host) {
    const { last, running } = stateOf(host);
    await last?.();
    for (const part of running.toReversed()) await part.stop();
  },
});

/** Lets features add their own metrics. */
export interface Meter {
  readonly metrics: Metrics;
  /** A metric's name behind the namespace: `framework_database_connections`. */
  named(name: string): string;
  /** The bounds of histograms of durations, in seconds. */
  readonly durationBuckets: readonly number[];
}

/** The metrics of the application, also where the endpoint for them is not enabled. */
export function registryOf(host: Host): Metrics {
  return stateOf(host).registry;
}

/** Calls back at the end, while the engines that gauges ask are still open. It must end in a limited time. */
export function onLastMetrics(host: Host, last: () => Promise<void>): void {
  stateOf(host).last = last;
}

/** Null where metrics are not enabled: then nothing is counted. */
export function meterOf(host: Host): Meter | null {
  const { registry, options } = stateOf(host);
  if (options === null) return null;
  const { namespace, durationBuckets } = options;
  return {
    metrics: registry,
    named: (name) => (namespace === "" ? name : `${namespace}_${name}`),
    durationBuckets,
  };
}
