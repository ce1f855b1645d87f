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
  if (to === "end") return found;
  const last = (await consumer.listOffsets({ topics: [topic], timestamp: ends.end })).get(topic) ?? [];
  // -1: there is no message of that time or later.
  return last.map((end, partition) => ((found[partition] ?? -1n) >= 0n ? found[partition]! : end));
}

/** Where the reading of partitions begins. */
export interface Starts {
  readonly offsets: ReadonlyMap<number, bigint>;
  /** Those of partitions for which the group had no offset. */
  readonly fresh: ReadonlyMap<number, bigint>;
}

/** The offsets of a group, and for partitions without one that of the start or the end. */
export async function startsOf(
  consumer: KafkaClientConsumer,
  topic: string,
  partitions: readonly number[],
  from: "start" | "end",
): Promise<Starts> {
  const offsets = new Map<number, bigint>();
  const fresh = new Map<number, bigint>();
  if (partitions.length === 0) return { offsets, fresh };
  const committed = (await consumer.listCommittedOffsets({ topics: [{ topic, partitions }] })).get(topic) ?? [];
  for (const number of partitions) {
    const offset = committed[number] ?? -1n;
    if (offset >= 0n) offsets.set(number, offset);
  }
  if (offsets.size === partitions.length) return { offsets, fresh };
  const known = await offsetsAt(consumer, topic, from);
  for (const number of partitions) if (!offsets.has(number)) fresh.set(number, known[number] ?? 0n);
  for (const [number, offset] of fresh) offsets.set(number, offset);
  return { offsets, fresh };
}

/**
 * The place to read on from, for an offset that a partition does not have. The broker has deleted messages that nobody read in
 * time: then it is the oldest one that is left. Or its log ends before the offset, since the topic was made anew or the end
 * of the log is lost: then it is where a new group begins.
 */
export async function nearestOffset(
  consumer: KafkaClientConsumer,
  topic: string,
  number: number,
  offset: bigint,
  from: "start" | "end",
): Promise<bigint> {
  const first = (await offsetsAt(consumer, topic, "start"))[number] ?? 0n;
  const last = (await offsetsAt(consumer, topic, "end"))[number] ?? 0n;
  if (offset < first) return first;
  // New messages may have come meanwhile.
  if (offset <= last) return offset;
  return from === "start" ? first : last;
}
