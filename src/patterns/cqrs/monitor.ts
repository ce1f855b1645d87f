import type { Meter } from "../../batteries/metrics/feature.js";
import type { Tracer } from "../../kit/tracer.js";

/** The run of a command or a query. */
interface Measured {
  readonly kind: "command" | "query";
  readonly name: string;
  readonly attempt: number;
}

/** Counts, times and traces commands and queries. */
export class MessageMonitor {
  readonly #settled: ((run: Measured, seconds: number, outcome: string) => void) | null;
  readonly #tracer: Tracer | null;

  constructor(meter: Meter | null, tracer: Tracer | null) {
    this.#tracer = tracer;
    this.#settled = meter === null ? null : counters(meter);
  }

  async measure<T>(run: Measured, work: () => Promise<T>): Promise<T> {
    const started = performance.now();
    const attributes = { "stoa.message.kind": run.kind, "stoa.message.name": run.name };
    const span = this.#tracer?.start(`${run.kind} ${run.name}`, attributes, { kind: "internal" });
    const settle = (error: unknown, outcome: string): void => {
      if (run.attempt > 1) span?.set("stoa.message.attempts", run.attempt);
      span?.end(error);
      this.#settled?.(run, (performance.now() - started) / 1000, outcome);
    };
    try {
      const result = await (span === undefined ? work() : span.run(work));
      settle(undefined, "done");
      return result;
    } catch (error) {
      settle(error, error instanceof Error && error.constructor.name === "CommandTimeout" ? "timeout" : "failed");
      throw error;
    }
  }
}

function counters({ metrics, named, durationBuckets }: Meter) {
  const total = metrics.counter(named("messages_total"), {
    help: "Commands and queries that have ended, by outcome: done, failed or timeout.",
    labels: ["kind", "name", "outcome"],
  });
  const durations = metrics.histogram(named("message_duration_seconds"), {
    help: "Time of a command or a query, its retries included, in seconds.",
    labels: ["kind", "name"],
    buckets: durationBuckets,
  });
  return ({ kind, name }: Measured, seconds: number, outcome: string): void => {
    total.labels({ kind, name, outcome }).inc();
    durations.labels({ kind, name }).observe(seconds);
  };
}
