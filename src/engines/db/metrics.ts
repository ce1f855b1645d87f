import type { CounterSeries } from "../../batteries/metrics/counter.js";
import type { Meter } from "../../batteries/metrics/feature.js";
import { DatabaseError } from "./errors.js";
import type { QueryMeter } from "./pool/execution.js";

/** Counts and times the statements of a database. */
export function statementMeter({ metrics, named, durationBuckets }: Meter): QueryMeter {
  const queries = metrics.counter(named("database_queries_total"), { help: "Statements that have ended." }).labels({});
  const errors = metrics.counter(named("database_errors_total"), {
    help: "Statements that failed, by class of the error and SQLSTATE.",
    labels: ["error", "sqlstate"],
  });
  const durations = metrics
    .histogram(named("database_query_duration_seconds"), {
      help: "Time from a call to its result, including the wait for a connection, in seconds.",
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
