import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { isPlainPath } from "../../routing/pattern.js";
import { isBuckets } from "./buckets.js";
import { secondsBuckets } from "./registry.js";

const word = (value: unknown): string | undefined =>
  typeof value === "string" && /^([a-zA-Z_][a-zA-Z0-9_]*)?$/.test(value) ? undefined : "letters, digits and '_'";

export const metricsOptions = options(
  "enableMetrics()",
  {
    /** Path of the endpoint. Default "/metrics". */
    endpoint: option(isPlainPath, "/metrics"),
    /** First part of the names of the framework's metrics. Default "framework". */
    namespace: option<string>(word, "framework"),
    /** Second part of the names of the metrics of requests. Default "http". */
    subsystem: option<string>(word, "http"),
    /** Upper bounds of the buckets of durations, in seconds. Default: from 1 ms to 10 s. */
    durationBuckets: option(isBuckets, secondsBuckets, "from 1 ms to 10 s"),
    /** Upper bounds of the buckets of sizes, in bytes. Default: powers of ten from 100 to 100 million. */
    sizeBuckets: option(
      isBuckets,
      [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
      "powers of ten from 100 to 100 million",
    ),
    /** Largest number of routes and methods with their own series; others are counted as path "other". Default 1000. */
    maxRoutes: option(is.integer(1), 1000),
    /** Adds metrics of memory, CPU and the event loop. Default true. */
    processMetrics: option(is.boolean, true),
    /** Time to wait at a scrape for the other workers. Default 1 second. */
    workerTimeout: option.duration("1s", "10ms", "1m"),
  },
  { order: ["endpoint", "namespace", "subsystem"] },
);

export interface MetricsOptions extends OptionsOf<typeof metricsOptions.fields> {}
export type MetricsSettings = SettingsOf<typeof metricsOptions.fields>;
