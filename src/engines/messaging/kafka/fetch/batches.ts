import type { IncomingRecord } from "../../broker.js";
import { BatchRecords } from "./batch-records.js";
import { ByteReader, CorruptError } from "./byte-reader.js";
import type { AbortedTransaction, FetchedPartition } from "./response.js";

/** Places in the head of a batch: https://kafka.apache.org/documentation/#recordbatch */
const at = {
  length: 8,
  magic: 16,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  count: 57,
  records: 61,
} as const;
/** The length of a batch counts from here. */
const lengthFrom = 12;
const compressionBits = 0b111;
const appendTimeBit = 1 << 3;
const transactionBit = 1 << 4;
const controlBit = 1 << 5;
/** The type of the control record that ends a transaction without effect. */
const abortMarker = 0;

export interface BatchesParts {
  readonly topic: string;
  /** The offset that was asked for. A batch may begin before it: its first records are left out. */
  readonly from: bigint;
  /** Unpacks by the number of the compression. Throws for one that it does not know. */
  decompress(compression: number, data: Buffer): Buffer;
}

/** The records of one partition in a response, read as they are taken. */
export class RecordBatches {
  readonly number: number;
  /** The offset after the last whole batch. */
  readonly nextOffset: bigint;
  /** Bytes of the response. */
  readonly size: number;
  readonly #parts: BatchesParts;
  readonly #buffer: Buffer;
  /** The end of the last whole batch. */
  readonly #end: number;
  /** Aborted transactions that begin later, in the order of their first offsets. */
  readonly #aborted: AbortedTransaction[];
  /** Producers of aborted transactions, each from its first message to its end. */
  readonly #aborting = new Set<bigint>();
  /** The place of the next batch. */
  #next = 0;
  #batch: BatchRecords | null = null;

  constructor({ number, records, aborted }: FetchedPartition, parts: BatchesParts) {
    this.number = number;
    this.size = records.length;
    this.#parts = parts;
    this.#buffer = records;
    this.#aborted = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
    let next = parts.from;
    let end = 0;
    while (records.length - end >= at.records) {
      const length = records.readInt32BE(end + at.length);
      if (length > records.length - end - lengthFrom) break;
      checkHead(records, end, length);
      next = lastOffset(records, end) + 1n;
      end += lengthFrom + length;
    }
    // The first batch comes whole, however large it is: without one, the same would be asked for again and again.
    if (records.length > 0 && end === 0) throw new CorruptError("a response has no whole batch");
    this.nextOffset = next;
    this.#end = end;
  }

  /** The offset of the record that was taken last. */
  get offset(): bigint {
    return this.#batch?.offset ?? -1n;
  }

  /** The next record; null at the end. */
  take(): IncomingRecord | null {
    for (;;) {
      const record = this.#batch?.take(this.#parts.from) ?? null;
      if (record !== null) return record;
      if (this.#next >= this.#end) return null;
      this.#enter();
    }
  }

  /** Goes to the next batch. Marks of transactions and messages of aborted ones are passed over. */
  #enter(): void {
    const buffer = this.#buffer;
    const start = this.#next;
    const end = start + lengthFrom + buffer.readInt32BE(start + at.length);
    this.#next = end;
    const attributes = buffer.readInt16BE(start + at.attributes);
    const producer = buffer.readBigInt64BE(start + at.producerId);
    this.#beginAborted(lastOffset(buffer, start));
    this.#batch = null;
    if (attributes & controlBit) {
      if (isAbort(buffer, start, end)) this.#aborting.delete(producer);
    } else if (!(attributes & transactionBit) || !this.#aborting.has(producer)) {
      this.#batch = this.#open(start, end, attributes);
    }
  }

  #beginAborted(upTo: bigint): void {
    while (this.#aborted.length > 0 && this.#aborted[0]!.firstOffset <= upTo) {
      this.#aborting.add(this.#aborted.shift()!.producerId);
    }
  }

  #open(start: number, end: number, attributes: number): BatchRecords {
    const { topic, decompress } = this.#parts;
    const buffer = this.#buffer;
    const compression = attributes & compressionBits;
    const reader =
      compression === 0
        ? new ByteReader(buffer, start + at.records, end)
        : new ByteReader(decompress(compression, buffer.subarray(start + at.records, end)));
    return new BatchRecords(reader, {
      topic,
      partition: this.number,
      firstOffset: buffer.readBigInt64BE(start),
      firstTimestamp: Number(buffer.readBigInt64BE(start + at.firstTimestamp)),
      appendTime: attributes & appendTimeBit ? Number(buffer.readBigInt64BE(start + at.maxTimestamp)) : null,
      count: buffer.readInt32BE(start + at.count),
    });
  }
}

function checkHead(buffer: Buffer, start: number, length: number): void {
  const magic = buffer[start + at.magic];
  if (magic !== 2)
    throw new CorruptError(`a batch has the format ${magic}: only 2 is known, that of Kafka 0.11 and later`);
  if (length < at.records - lengthFrom) throw new CorruptError(`a batch has ${length} bytes`);
}

function lastOffset(buffer: Buffer, start: number): bigint {
  return buffer.readBigInt64BE(start) + BigInt(buffer.readInt32BE(start + at.lastOffsetDelta));
}

/** True for the mark that ends a transaction without effect: the key of its record is a version and the type. */
function isAbort(buffer: Buffer, start: number, end: number): boolean {
  // The cleaner of a compacted topic can leave a batch without records.
  if (buffer.readInt32BE(start + at.count) <= 0) return false;
  const reader = new ByteReader(buffer, start + at.records, end);
  // Length, attributes, time, offset, length of the key, version.
  reader.signed();
  reader.skip(1);
  reader.signed();
  reader.signed();
  reader.signed();
  reader.skip(2);
  return reader.int16() === abortMarker;
}
