import { ByteReader, CorruptError } from "../fetch/byte-reader.js";

/** Partitions of a topic. */
export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** A member of a group, as it describes itself when it joins. */
export interface Subscription {
  readonly topics: readonly string[];
  /** The partitions that it has and does not give up before it joins. */
  readonly owned: readonly TopicPartitions[];
  /** The generation of the group in which it had them; -1 if it does not say. */
  readonly generation: number;
}

/** The first version with the generation. */
const version = 2;

/** https://github.com/apache/kafka/blob/trunk/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json */
export function writeSubscription({ topics, owned, generation }: Subscription): Buffer {
  return Buffer.concat([
    int16(version),
    list(topics, text),
    // The user data. Java clients that know version 1 only look for the generation here.
    int32(4),
    int32(generation),
    list(owned, ({ topic, partitions }) => Buffer.concat([text(topic), list(partitions, int32)])),
    int32(generation),
  ]);
}

/** Reads what it can: members can be of any make and version. */
export function readSubscription(data: Buffer): Subscription {
  const reader = new ByteReader(data);
  let topics: string[] = [];
  try {
    const given = reader.int16();
    topics = readList(reader, readText);
    const size = reader.int32();
    const userData = reader.skip(Math.max(0, size));
    if (given < 1) return { topics, owned: [], generation: -1 };
    const owned = readList(reader, () => ({
      topic: readText(reader),
      partitions: readList(reader, () => reader.int32()),
    }));
    return {
      topics,
      owned,
      generation: given >= version ? reader.int32() : size === 4 ? data.readInt32BE(userData) : -1,
    };
  } catch (error) {
    // Earlier versions of Stoa name version 1, and end after the user data.
    if (!(error instanceof CorruptError)) throw error;
    return { topics, owned: [], generation: -1 };
  }
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int16(bytes.length), bytes]);
}

function list<Entry>(entries: readonly Entry[], write: (entry: Entry) => Buffer): Buffer {
  return Buffer.concat([int32(entries.length), ...entries.map(write)]);
}

function readText(reader: ByteReader): string {
  const start = reader.skip(reader.int16());
  return reader.buffer.toString("utf8", start, reader.position);
}

function readList<Entry>(reader: ByteReader, read: (reader: ByteReader) => Entry): Entry[] {
  const entries: Entry[] = [];
  for (let count = reader.int32(); count > 0; count--) entries.push(read(reader));
  return entries;
}
