import type { Meter } from "../../batteries/metrics/feature.js";
import type { CallMeter } from "./connection/pool-runner.js";

/** Counts and times the calls of a key-value store. Labels are names of commands and codes of errors: both are few. */
export function callMeter({ metrics, named, durationBuckets }: Meter): CallMeter {
  const calls = metrics.counter(named("kvstore_calls_total"), {
    help: "Calls that have ended, by command.",
    labels: ["command"],
  });
  const errors = metrics.counter(named("kvstore_errors_total"), {
    help: "Calls that failed, by kind of the error.",
    labels: ["code"],
  });
  const durations = metrics
    .histogram(named("kvstore_call_duration_seconds"), {
      help: "Time from a call to its reply in seconds; calls that wait on the server are left out.",
      buckets: durationBuckets,
    })
    .labels({});
  return {
    settled(call, seconds, error) {
      calls.labels({ command: call }).inc();
      durations.observe(seconds);
      if (error !== null) errors.labels({ code: error.code }).inc();
    },
  };
}
