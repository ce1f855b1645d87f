import type { IncomingRecord } from "../../broker.js";
import { MessagingError } from "../../errors.js";
import { BatchRecords } from "./batch-records.js";
import { ByteReader, CorruptError } from "./byte-reader.js";
import type { AbortedTransaction, FetchedPartition } from "./response.js";
import type { Unpack } from "./unpack.js";

/** Places in the head of a batch: https://kafka.apache.org/documentation/#recordbatch */
const at = {
  length: 8,
  magic: 16,
  checksum: 17,
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
/** The least length of a message in the format before batches. */
const oldLength = 14;
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
  readonly unpack: Unpack;
  /** The CRC-32C of bytes. */
  checksum(data: Buffer): number;
}

/** Records that cannot be read: from an offset to the end of their batch. */
export class Unreadable {
  constructor(
    readonly error: MessagingError,
    /** The batch, in place of its records. */
    readonly record: IncomingRecord,
  ) {}
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
  /** The places of the batch that is being read, and of the next one. */
  #start = 0;
  #next = 0;
  #batch: BatchRecords | null = null;
  /** The offset of the record that was taken last; of an unreadable batch the last one. */
  #offset = -1n;
  /** The error of a batch that was unpacked by another thread. */
  #failure: { readonly error: unknown } | null = null;

  constructor({ number, records, aborted }: FetchedPartition, parts: BatchesParts) {
    this.number = number;
    this.size = records.length;
    this.#parts = parts;
    this.#buffer = records;
    this.#aborted = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
    let next = parts.from;
    let end = 0;
    while (records.length - end > at.magic) {
      const length = records.readInt32BE(end + at.length);
      if (length > records.length - end - lengthFrom) break;
      if (length < (isOld(records, end) ? oldLength : at.records - lengthFrom))
        throw this.#named(new CorruptError(`a batch has ${length} bytes`), next);
      next = lastOffset(records, end) + 1n;
      end += lengthFrom + length;
    }
    // The first batch comes whole, however large it is: without one, the same would be asked for again and again.
    if (records.length > 0 && end === 0) throw this.#named(new CorruptError("a response has no whole batch"), next);
    this.nextOffset = next;
    this.#end = end;
  }

  /** The offset of the record that was taken last. */
  get offset(): bigint {
    return this.#offset;
  }

  /** The next record; a promise if it can be taken later only; null at the end. */
  take(): IncomingRecord | Unreadable | Promise<void> | null {
    try {
      for (;;) {
        if (this.#failure !== null) throw this.#failure.error;
        const record = this.#batch?.take(this.#parts.from) ?? null;
        if (record !== null) {
          this.#offset = this.#batch!.offset;
          return record;
        }
        this.#batch = null;
        if (this.#next >= this.#end) return null;
        const unpacking = this.#enter();
        if (unpacking !== undefined) return unpacking;
      }
    } catch (error) {
      return this.#setAside(error);
    }
  }

  /** Goes to the next batch. Marks of transactions and messages of aborted ones are passed over. */
  #enter(): Promise<void> | undefined {
    const buffer = this.#buffer;
    const start = this.#next;
    const end = start + lengthFrom + buffer.readInt32BE(start + at.length);
    this.#start = start;
    this.#next = end;
    this.#check(start, end);
    const attributes = buffer.readInt16BE(start + at.attributes);
    const producer = buffer.readBigInt64BE(start + at.producerId);
    this.#beginAborted(lastOffset(buffer, start));
    if (attributes & controlBit) {
      if (isAbort(buffer, start, end)) this.#aborting.delete(producer);
    } else if (!(attributes & transactionBit) || !this.#aborting.has(producer)) {
      return this.#open(start, end, attributes);
    }
    return undefined;
  }

  #check(start: number, end: number): void {
    const buffer = this.#buffer;
    if (buffer[start + at.magic] !== 2)
      throw new CorruptError(
        `a batch has the format ${buffer[start + at.magic]}: only 2 is known, that of Kafka 0.11 and later`,
      );
    if (this.#parts.checksum(buffer.subarray(start + at.attributes, end)) !== buffer.readUInt32BE(start + at.checksum))
      throw new CorruptError("a batch has another checksum than it says");
  }

  /** The batch that is being read cannot be read on. The next one can. */
  #setAside(error: unknown): Unreadable {
    const { topic, from } = this.#parts;
    const buffer = this.#buffer;
    const begin = this.#batch === null ? buffer.readBigInt64BE(this.#start) : this.#batch.offset + 1n;
    // Math.max takes no bigint.
    const first = [begin, from].toSorted((a, b) => Number(b - a))[0]!;
    this.#batch = null;
    this.#failure = null;
    this.#offset = lastOffset(buffer, this.#start);
    const body = buffer.subarray(this.#start, this.#next);
    const id = `${topic}-${this.number}-${first}`;
    return new Unreadable(this.#named(error, first), { id, key: null, headers: {}, body, timestamp: Date.now() });
  }

  #named(error: unknown, offset: bigint): MessagingError {
    const text = error instanceof Error ? error.message : String(error);
    const place = `topic '${this.#parts.topic}', partition ${this.number}, offset ${offset}`;
    return new MessagingError("REFUSED", `a batch cannot be read (${place}): ${text}`, { cause: error });
  }

  #beginAborted(upTo: bigint): void {
    while (this.#aborted.length > 0 && this.#aborted[0]!.firstOffset <= upTo) {
      this.#aborting.add(this.#aborted.shift()!.producerId);
    }
  }

  #open(start: number, end: number, attributes: number): Promise<void> | undefined {
    const buffer = this.#buffer;
    const compression = attributes & compressionBits;
    const head = {
      topic: this.#parts.topic,
      partition: this.number,
      firstOffset: buffer.readBigInt64BE(start),
      firstTimestamp: Number(buffer.readBigInt64BE(start + at.firstTimestamp)),
      appendTime: attributes & appendTimeBit ? Number(buffer.readBigInt64BE(start + at.maxTimestamp)) : null,
      count: buffer.readInt32BE(start + at.count),
    };
    if (compression === 0) {
      this.#batch = new BatchRecords(new ByteReader(buffer, start + at.records, end), head);
      return undefined;
    }
    const opened = (data: Buffer) => void (this.#batch = new BatchRecords(new ByteReader(data), head));
    const data = this.#parts.unpack(compression, buffer.subarray(start + at.records, end));
    if (data instanceof Promise) return data.then(opened, (error: unknown) => void (this.#failure = { error }));
    opened(data);
    return undefined;
  }
}

/** True for the messages of Kafka 0.10 and before. Their head is shorter, with the offset and the length at the same places. */
function isOld(buffer: Buffer, start: number): boolean {
  return buffer[start + at.magic]! < 2;
}

function lastOffset(buffer: Buffer, start: number): bigint {
  const first = buffer.readBigInt64BE(start);
  return isOld(buffer, start) ? first : first + BigInt(buffer.readInt32BE(start + at.lastOffsetDelta));
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
