import { type Checks, is, readCall } from "../../internal/options.js";
import { parsePattern } from "../../routing/pattern.js";
import { isBuckets } from "./buckets.js";
import { secondsBuckets } from "./registry.js";

export interface MetricsOptions {
  /** Where the metrics are shown. Default "/metrics". */
  readonly endpoint?: string;
  /** What the names of the metrics of requests begin with. Default "framework". */
  readonly namespace?: string;
  /** What follows it. Default "http". */
  readonly subsystem?: string;
  /** Upper bounds of the buckets of durations, in seconds. Default: from 1 ms to 10 s. */
  readonly durationBuckets?: readonly number[];
  /** Upper bounds of the buckets of sizes, in bytes. Default: powers of ten from 100 to 100 million. */
  readonly sizeBuckets?: readonly number[];
  /** Routes and methods that are told apart; what comes beyond is counted as path "other". Default 1000. */
  readonly maxRoutes?: number;
  /** Whether memory, CPU and the event loop are told of too. Default true. */
  readonly processMetrics?: boolean;
  /** Seconds to wait at a scrape for the other workers. Default 1. */
  readonly workerTimeout?: number;
}

const word = (value: unknown): string | undefined =>
  typeof value === "string" && /^([a-zA-Z_][a-zA-Z0-9_]*)?$/.test(value) ? undefined : "letters, digits and '_'";

const checks: Checks<MetricsOptions> = {
  endpoint: (value) =>
    is.path(value) ?? (parsePattern(value as string).paramNames.length > 0 ? "a plain path" : undefined),
  namespace: word,
  subsystem: word,
  durationBuckets: isBuckets,
  sizeBuckets: isBuckets,
  maxRoutes: is.integer(1),
  processMetrics: is.boolean,
  workerTimeout: is.number(0.01, 60),
};

const defaults: Required<MetricsOptions> = {
  endpoint: "/metrics",
  namespace: "framework",
  subsystem: "http",
  durationBuckets: secondsBuckets,
  sizeBuckets: [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
  maxRoutes: 1000,
  processMetrics: true,
  workerTimeout: 1,
};

export function readMetricsOptions(given: readonly unknown[]): Required<MetricsOptions> {
  const order = ["endpoint", "namespace", "subsystem"] as const;
  return { ...defaults, ...readCall<MetricsOptions>("enableMetrics()", given, order, checks) };
}
