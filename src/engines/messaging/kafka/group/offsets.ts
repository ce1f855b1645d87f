import { ValueError } from "../../../../kit/value-error.js";
import type { PartitionOffset } from "../../broker.js";
import type { KafkaClientConsumer } from "../library.js";
import type { Start } from "./assignment.js";
import type { Committed, GroupOffsets } from "./group-offsets.js";
import { readProgress } from "./progress.js";

/** Timestamps that stand for the two ends of a partition. */
const ends = { start: -2n, end: -1n } as const;

/**
 * Messages of each partition that the group has not handled yet. `readUpTo` knows more of a partition than the group's offset.
 */
export async function lagsOf(
  consumer: KafkaClientConsumer,
  offsets: GroupOffsets,
  topic: string,
  readUpTo: (partition: number) => bigint,
): Promise<Map<number, number>> {
  const last = (await consumer.listOffsets({ topics: [topic], timestamp: ends.end })).get(topic) ?? [];
  const partitions = last.map((_, partition) => partition);
  const committed = await offsets.fetch(partitions, { stable: false });
  const first = (await consumer.listOffsets({ topics: [topic], timestamp: ends.start })).get(topic) ?? [];
  return new Map(
    last.map((end, partition) => {
      if (readUpTo(partition) >= end) return [partition, 0];
      return [partition, Number(end - (committed.get(partition)?.offset ?? first[partition] ?? end))];
    }),
  );
}

/** An offset that a program has given. One that the partition does not have leads to the nearest. */
export function checkedOffset({ partition, offset }: PartitionOffset): { partition: number; offset: bigint } {
  if (Number.isSafeInteger(partition) && (typeof offset === "bigint" || Number.isSafeInteger(offset)) && offset >= 0)
    return { partition, offset: BigInt(offset) };
  throw new ValueError("seek() takes 'start', 'end', a Date, or the numbers { partition, offset }");
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

/** Where the reading of partitions begins, with the process that reads them and its question for the offsets of the group. */
interface StartsRequest {
  readonly topic: string;
  readonly partitions: readonly number[];
  readonly from: "start" | "end";
  readonly owner: string;
  /** Reads the offsets of the group. */
  readonly committed: () => Promise<ReadonlyMap<number, Committed>>;
}

/** The offsets of a group, and for partitions without one that of the start or the end. */
export async function startsOf(consumer: KafkaClientConsumer, request: StartsRequest): Promise<Map<number, Start>> {
  const { topic, partitions, from, owner, committed } = request;
  if (partitions.length === 0) return new Map();
  const found = await committed();
  const known = found.size === partitions.length ? [] : await offsetsAt(consumer, topic, from);
  return new Map(
    partitions.map((number) => {
      const { offset, metadata } = found.get(number) ?? { offset: null, metadata: null };
      if (offset === null) return [number, { offset: known[number] ?? 0n, progress: null, abandoned: false }];
      const progress = readProgress(offset, metadata);
      // Without metadata a transaction has moved the offset last: a process that leaves in order writes some.
      const abandoned = progress === null || (progress.owner !== null && progress.owner !== owner);
      return [number, { offset, progress, abandoned }];
    }),
  );
}

/** Where the members of a broadcast begin: where they were, or at the end. */
export async function broadcastStarts(
  consumer: KafkaClientConsumer,
  topic: string,
  partitions: readonly number[],
  known: (number: number) => bigint | null,
): Promise<Map<number, Start>> {
  if (partitions.length === 0) return new Map();
  const ends = await offsetsAt(consumer, topic, "end");
  const startOf = (number: number) => ({
    offset: known(number) ?? ends[number] ?? 0n,
    progress: null,
    abandoned: false,
  });
  return new Map(partitions.map((number) => [number, startOf(number)]));
}

/**
 * The place to read on from, for an offset that a partition does not have. The broker has deleted messages that were not read in
 * time: then it is the oldest one that is left. Or its log ends before the offset, since the topic was made again or the end
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
  // New messages may have come in between.
  if (offset <= last) return offset;
  return from === "start" ? first : last;
}
