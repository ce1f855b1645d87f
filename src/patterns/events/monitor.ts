import type { Meter } from "../../batteries/metrics/feature.js";
import type { Tracer } from "../../internal/tracer.js";
import type { RunnerProgress } from "./subscription-runner.js";

/** Counts, times and traces the work of subscriptions and projections. */
export class EventMonitor {
  readonly #tracer: Tracer | null;
  readonly #meter: ReturnType<typeof counters> | null;

  constructor(meter: Meter | null, tracer: Tracer | null, progress: () => Iterable<RunnerProgress>) {
    this.#tracer = tracer;
    this.#meter = meter === null ? null : counters(meter, progress);
  }

  appended(count: number): void {
    this.#meter?.appended.inc(count);
  }

  conflict(): void {
    this.#meter?.conflicts.inc();
  }

  /** Runs the work on a batch of events. */
  async handle<T>(subscription: string, events: number, work: () => Promise<T>): Promise<T> {
    if (events === 0) return work();
    const name = labelOf(subscription);
    const started = performance.now();
    const attributes = { "messaging.destination.name": name, "messaging.batch.message_count": events };
    const span = this.#tracer?.start(`process ${name}`, attributes, { kind: "consumer" });
    const settle = (error: unknown, failed: boolean): void => {
      span?.end(error);
      this.#meter?.durations.labels({ subscription: name }).observe((performance.now() - started) / 1000);
      if (failed) this.#meter?.failures.labels({ subscription: name }).inc();
      else this.#meter?.handled.labels({ subscription: name }).inc(events);
    };
    try {
      const result = await (span === undefined ? work() : span.run(work));
      settle(undefined, false);
      return result;
    } catch (error) {
      settle(error, true);
      throw error;
    }
  }
}

function counters({ metrics, named, durationBuckets }: Meter, progress: () => Iterable<RunnerProgress>) {
  metrics.gauge(named("event_subscription_lag"), {
    help: "Positions between the checkpoint of a subscription that runs here and the newest event.",
    labels: ["subscription"],
    collect: (gauge) => {
      for (const { name, active, lag } of progress()) {
        if (active) gauge.labels({ subscription: labelOf(name) }).set(lag);
      }
    },
  });
  return {
    appended: metrics.counter(named("events_appended_total"), { help: "Events that were stored." }).labels({}),
    conflicts: metrics
      .counter(named("event_conflicts_total"), { help: "Appends that found another version than they expected." })
      .labels({}),
    handled: metrics.counter(named("events_handled_total"), {
      help: "Events that a subscription or a projection has handled.",
      labels: ["subscription"],
    }),
    failures: metrics.counter(named("event_batch_failures_total"), {
      help: "Batches of events whose handler failed.",
      labels: ["subscription"],
    }),
    durations: metrics.histogram(named("event_batch_duration_seconds"), {
      help: "Time to handle a batch of events, in seconds.",
      labels: ["subscription"],
      buckets: durationBuckets,
    }),
  };
}

/** Builds of a projection follow each other under one name. */
function labelOf(subscription: string): string {
  const build = subscription.indexOf("@");
  if (build < 0) return subscription;
  const shard = subscription.indexOf("#", build);
  return subscription.slice(0, build) + (shard < 0 ? "" : subscription.slice(shard));
}
