import { type Checks, is, readCall } from "../../internal/options.js";
import { parsePattern } from "../../routing/pattern.js";
import { isBuckets } from "./buckets.js";
import { secondsBuckets } from "./registry.js";

export interface MetricsOptions {
  /** Path of the endpoint. Default "/metrics". */
  readonly endpoint?: string;
  /** First part of the names of the framework's metrics. Default "framework". */
  readonly namespace?: string;
  /** Second part of the names of the metrics of requests. Default "http". */
  readonly subsystem?: string;
  /** Upper bounds of the buckets of durations, in seconds. Default: from 1 ms to 10 s. */
  readonly durationBuckets?: readonly number[];
  /** Upper bounds of the buckets of sizes, in bytes. Default: powers of ten from 100 to 100 million. */
  readonly sizeBuckets?: readonly number[];
  /** Largest number of routes and methods with series of their own; others are counted as path "other". Default 1000. */
  readonly maxRoutes?: number;
  /** Adds metrics of memory, CPU and the event loop. Default true. */
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
