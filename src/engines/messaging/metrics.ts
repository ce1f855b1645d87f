import type { Meter } from "../../batteries/metrics/feature.js";
import type { Messaging, MessagingMeter } from "./messaging.js";

/** Counts messages. Labels are topics, groups and kinds of results, all of which the program names. */
export function messagingMeter({ metrics, named, durationBuckets }: Meter, messaging: Messaging): MessagingMeter {
  const published = metrics.counter(named("messages_published_total"), {
    help: "Messages that the broker has confirmed or refused, by topic and result.",
    labels: ["topic", "result"],
  });
  const handled = metrics.counter(named("messages_handled_total"), {
    help: "Messages that have left a consumer, by the way they ended.",
    labels: ["topic", "group", "result"],
  });
  const failed = metrics.counter(named("messages_failed_attempts_total"), {
    help: "Attempts of handlers that failed.",
    labels: ["topic", "group"],
  });
  const durations = metrics.histogram(named("message_attempt_duration_seconds"), {
    help: "Time of one attempt of a handler in seconds.",
    labels: ["topic", "group"],
    buckets: durationBuckets,
  });
  metrics.gauge(named("messages_in_flight"), {
    help: "Messages that a consumer has taken over and not settled.",
    labels: ["topic", "group"],
    collect: (gauge) => {
      for (const consumer of messaging.consumers) {
        gauge.set({ topic: consumer.topic, group: groupOf(consumer.group) }, consumer.stats().held);
      }
    },
  });
  metrics.gauge(named("messages_lag"), {
    help: "Messages that a group has not handled yet, where the broker says so.",
    labels: ["topic", "group"],
    // All workers see the same number.
    merge: "max",
    async collect(gauge) {
      const lags = messaging.consumers.map(async (consumer) => {
        const lag = await consumer.lag().catch(() => null);
        if (lag !== null) gauge.set({ topic: consumer.topic, group: groupOf(consumer.group) }, lag);
      });
      await Promise.all(lags);
    },
  });
  metrics.gauge(named("messages_waiting"), {
    help: "Messages that the brokers have not confirmed yet.",
    collect: () => messaging.waiting,
  });
  return {
    published: (topic, error) => published.labels({ topic, result: error === null ? "ok" : error.code }).inc(),
    ended: (topic, group, result) => handled.labels({ topic, group: groupOf(group), result }).inc(),
    attempted(topic, group, seconds, ok) {
      durations.labels({ topic, group: groupOf(group) }).observe(seconds);
      if (!ok) failed.labels({ topic, group: groupOf(group) }).inc();
    },
  };
}

/** Each process has its own group for broadcasts: all of them are one series. */
function groupOf(group: string): string {
  return group.startsWith("broadcast-") ? "broadcast" : group;
}
