import type { KafkaClientConsumer } from "./library.js";

/** Timestamps that stand for the two ends of a partition. */
const ends = { start: -2n, end: -1n } as const;

/** Messages of a topic that the group has not handled yet. `readUpTo` knows more of a partition than the group's offset. */
export async function lagOf(
  consumer: KafkaClientConsumer,
  topic: string,
  readUpTo: (partition: number) => bigint,
): Promise<number> {
  const last = (await consumer.listOffsets({ topics: [topic], timestamp: ends.end })).get(topic) ?? [];
  const partitions = last.map((_, partition) => partition);
  const committed = (await consumer.listCommittedOffsets({ topics: [{ topic, partitions }] })).get(topic) ?? [];
  const first = (await consumer.listOffsets({ topics: [topic], timestamp: ends.start })).get(topic) ?? [];
  return last.reduce((sum, end, partition) => {
    if (readUpTo(partition) >= end) return sum;
    const done = committed[partition] ?? -1n;
    return sum + Number(end - (done >= 0n ? done : (first[partition] ?? end)));
  }, 0);
}

/** The offsets of all partitions at a place of the topic. */
export async function offsetsAt(
  consumer: KafkaClientConsumer,
  topic: string,
  to: "start" | "end" | Date,
): Promise<readonly bigint[]> {
  const timestamp = to instanceof Date ? BigInt(to.getTime()) : ends[to];
  const found = (await consumer.listOffsets({ topics: [topic], timestamp })).get(topic) ?? [];
  const last = (await consumer.listOffsets({ topics: [topic], timestamp: ends.end })).get(topic) ?? [];
  // -1: there is no message of that time or later.
  return last.map((end, partition) => ((found[partition] ?? -1n) >= 0n ? found[partition]! : end));
}
