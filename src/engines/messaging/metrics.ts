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
  // Both gauges are collected together: the brokers are asked once.
  let asked: Promise<readonly ConsumerLag[]> | null = null;
  const lags = () =>
    (asked ??= lagsOf(messaging).finally(() => {
      asked = null;
    }));
  metrics.gauge(named("messages_lag"), {
    help: "Messages that a group has not handled yet, where the broker says so.",
    labels: ["topic", "group"],
    // All workers see the same number.
    merge: "max",
    async collect(gauge) {
      for (const { topic, group, lag } of await lags()) gauge.set({ topic, group }, lag);
    },
  });
  metrics.gauge(named("messages_partition_lag"), {
    help: "Messages of each partition that a group has not handled yet.",
    labels: ["topic", "group", "partition"],
    merge: "max",
    async collect(gauge) {
      for (const { topic, group, partitions } of await lags())
        for (const [partition, lag] of partitions ?? []) gauge.set({ topic, group, partition: String(partition) }, lag);
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

interface ConsumerLag {
  readonly topic: string;
  readonly group: string;
  readonly lag: number;
  readonly partitions: ReadonlyMap<number, number> | null;
}

/** The lags of the consumers whose brokers tell them. */
async function lagsOf({ consumers }: Messaging): Promise<readonly ConsumerLag[]> {
  const found = consumers.map(async (consumer) => {
    const partitions = await consumer.lags().catch(() => null);
    const lag = partitions === null ? await consumer.lag().catch(() => null) : sumOf(partitions.values());
    return lag === null ? [] : [{ topic: consumer.topic, group: groupOf(consumer.group), lag, partitions }];
  });
  return (await Promise.all(found)).flat();
}

function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

/** Each process has its own group for broadcasts: all of them are one series. */
function groupOf(group: string): string {
  return group.startsWith("broadcast-") ? "broadcast" : group;
}
