import type { Meter } from "../../batteries/metrics/feature.js";
import { inSpan, readerOf } from "../../durable/stored-trace.js";
import type { Tracer } from "../../kit/tracer.js";
import type { EventMetadata, RecordedEvent } from "./event.js";
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

  /** Runs an append as a span. `work` gets the trace context that the events keep; null without telemetry. */
  append<T>(category: string, count: number, work: (trace: EventMetadata | null) => Promise<T>): Promise<T> {
    if (this.#tracer === null) return work(null);
    const attributes = {
      ...conventions,
      "messaging.operation.name": "append",
      "messaging.operation.type": "send",
      "messaging.destination.name": category,
      "messaging.batch.message_count": count === 1 ? undefined : count,
    };
    const span = this.#tracer.start(`append ${category}`, attributes, { kind: "producer" });
    const { traceparent, tracestate } = span.headers();
    return inSpan(span, () => work({ traceparent, tracestate }));
  }

  /** Runs the handler of one event as a span of the trace that has appended it. */
  event<T>(subscription: string, event: RecordedEvent, work: () => Promise<T>): Promise<T> {
    if (this.#tracer === null) return work();
    const attributes = {
      ...processing(subscription),
      "messaging.destination.name": event.category,
      "messaging.message.id": event.id,
      "stoa.event.type": event.type,
    };
    const options = { kind: "consumer", from: readerOf(event.metadata) } as const;
    return inSpan(this.#tracer.start(`process ${subscription}`, attributes, options), work);
  }

  /**
   * Runs work on a batch of events that are handled together, as a span: of the trace that has appended them if there is
   * one for all, else with links to their traces.
   */
  batch<T>(subscription: string, events: readonly RecordedEvent[], work: () => Promise<T>): Promise<T> {
    if (this.#tracer === null || events.length === 0) return work();
    const name = labelOf(subscription);
    const attributes = { ...processing(name), "messaging.batch.message_count": events.length };
    const contexts = new Map(events.map((event) => [event.metadata["traceparent"], readerOf(event.metadata)]));
    contexts.delete(undefined);
    const all = [...contexts.values()].slice(0, mostLinks);
    const origin = all.length === 1 ? { from: all[0] } : { links: all };
    return inSpan(this.#tracer.start(`process ${name}`, attributes, { kind: "consumer", ...origin }), work);
  }

  /** Counts and times the work on a batch of events. */
  async measure<T>(subscription: string, events: number, work: () => Promise<T>): Promise<T> {
    if (events === 0 || this.#meter === null) return work();
    const subscriptions = { subscription: labelOf(subscription) };
    const { durations, failures, handled } = this.#meter;
    const started = performance.now();
    try {
      const result = await work();
      handled.labels(subscriptions).inc(events);
      return result;
    } catch (error) {
      failures.labels(subscriptions).inc();
      throw error;
    } finally {
      durations.labels(subscriptions).observe((performance.now() - started) / 1000);
    }
  }
}

/** Names of OpenTelemetry's conventions for messages. */
const conventions = { "messaging.system": "stoa" } as const;

/** The limit of OpenTelemetry for the links of a span. */
const mostLinks = 128;

function processing(subscription: string) {
  return {
    ...conventions,
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.destination.subscription.name": subscription,
  };
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
