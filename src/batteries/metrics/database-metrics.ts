import type { DatabaseStats } from "../../engines/db/database.js";
import { DatabaseError } from "../../engines/db/errors.js";
import type { QueryMeter } from "../../engines/db/job.js";
import type { CounterSeries } from "./counter.js";
import type { Metrics } from "./registry.js";

export interface DatabaseMetricsOptions {
  /** What the names begin with: `framework_`. */
  readonly prefix: string;
  /** Upper bounds of the buckets of durations, in seconds. */
  readonly durationBuckets: readonly number[];
  /** The most connections that may be open. */
  readonly maxConnections: number;
  readonly stats: () => DatabaseStats;
}

/** Shows the connections of a database; what it gives back is to be told of the statements. */
export function databaseMetrics(metrics: Metrics, options: DatabaseMetricsOptions): QueryMeter {
  const { prefix, durationBuckets, maxConnections, stats } = options;
  const gauge = (name: string, help: string, collect: () => number): void => {
    metrics.gauge(`${prefix}database_${name}`, { help, collect });
  };
  gauge("connections", "Connections that are open.", () => stats().total);
  gauge("connections_idle", "Open connections without work.", () => stats().idle);
  gauge("connections_in_use", "Open connections with work.", () => stats().inUse);
  gauge("connections_max", "Connections that may be open.", () => maxConnections);
  gauge("calls_waiting", "Calls that wait for a connection.", () => stats().waiting);
  const queries = metrics
    .counter(`${prefix}database_queries_total`, { help: "Statements that have ended." })
    .labels({});
  const errors = metrics.counter(`${prefix}database_errors_total`, {
    help: "Statements that failed, by class of the error and SQLSTATE.",
    labels: ["error", "sqlstate"],
  });
  const durations = metrics
    .histogram(`${prefix}database_query_duration_seconds`, {
      help: "Time from a call to its answer, the wait for a connection included, in seconds.",
      buckets: durationBuckets,
    })
    .labels({});
  const failed = (error: unknown): CounterSeries => {
    if (!(error instanceof DatabaseError)) return errors.labels({ error: "other", sqlstate: "" });
    return errors.labels({ error: error.name, sqlstate: error.sqlstate ?? "" });
  };
  return {
    settled(seconds, error) {
      queries.inc();
      durations.observe(seconds);
      if (error !== null) failed(error).inc();
    },
  };
}
