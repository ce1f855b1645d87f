import type { Meter } from "../../batteries/metrics/feature.js";
import type { Tracer } from "../../kit/tracer.js";
import type { ReadyOperation } from "./documents.js";
import type { TextResult } from "./execute/compile.js";

/** Counts, times and traces operations. Their names come from clients: they are attributes of spans, and no labels. */
export class OperationMonitor {
  readonly #meter: OperationMeter | null;
  readonly #tracer: Tracer | null;

  constructor(meter: Meter | null, tracer: Tracer | null) {
    this.#meter = meter === null ? null : counters(meter);
    this.#tracer = tracer;
  }

  /** One execution: that of a query, a mutation, or an event of a subscription. */
  measure(
    { type, name }: ReadyOperation,
    work: () => TextResult | Promise<TextResult>,
  ): TextResult | Promise<TextResult> {
    const started = performance.now();
    const span = this.#tracer?.start(type, { "graphql.operation.type": type }, { kind: "internal" }) ?? null;
    if (name !== null) span?.set("graphql.operation.name", name);
    const settle = (result: TextResult): TextResult => {
      const errors = result.errors?.length ?? 0;
      if (errors > 0) span?.set("graphql.errors.count", errors);
      span?.end(result.errors?.[0]);
      this.#meter?.ended(type, errors, (performance.now() - started) / 1000);
      return result;
    };
    const result = span === null ? work() : span.run(work);
    return result instanceof Promise ? result.then(settle) : settle(result);
  }

  /** An operation that is not executed: it is not valid, or exceeds a limit. */
  refused(): void {
    this.#meter?.refused();
  }
}

interface OperationMeter {
  ended(type: string, errors: number, seconds: number): void;
  refused(): void;
}

function counters({ metrics, named, durationBuckets }: Meter): OperationMeter {
  const total = metrics.counter(named("graphql_operations_total"), {
    help: "Operations by type and outcome: done, errors or refused. Each event of a subscription is one.",
    labels: ["type", "outcome"],
  });
  const errors = metrics.counter(named("graphql_errors_total"), {
    help: "Errors in the results of operations.",
    labels: ["type"],
  });
  const durations = metrics.histogram(named("graphql_operation_duration_seconds"), {
    help: "Time of the execution of an operation in seconds.",
    labels: ["type"],
    buckets: durationBuckets,
  });
  return {
    ended(type, count, seconds) {
      total.labels({ type, outcome: count === 0 ? "done" : "errors" }).inc();
      if (count > 0) errors.labels({ type }).inc(count);
      durations.labels({ type }).observe(seconds);
    },
    refused: () => total.labels({ type: "unknown", outcome: "refused" }).inc(),
  };
}
