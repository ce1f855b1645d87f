import { ByteReader } from "./byte-reader.js";

/** A transaction that was aborted. Its messages are in the log, and must not be delivered. */
export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

export interface FetchedPartition {
  readonly number: number;
  /** A code of the protocol; 0 for none. */
  readonly error: number;
  readonly aborted: readonly AbortedTransaction[];
  /** Batches of records. The last one may be cut off. */
  readonly records: Buffer;
}

export interface FetchResponse {
  /** Milliseconds that the broker wants to be left alone. */
  readonly throttle: number;
  /** A code of the protocol; 0 for none. */
  readonly error: number;
  readonly partitions: readonly FetchedPartition[];
}

/** The first version that names topics by their ids. */
export const firstVersionWithIds = 13;
const idSize = 16;
/** Three offsets of a partition that are not needed here. */
const offsetsSize = 24;

/** Reads the response to a request of the API Fetch, version 12 to 17. */
export function readFetchResponse(buffer: Buffer, version: number): FetchResponse {
  const reader = new ByteReader(buffer);
  const throttle = reader.int32();
  const error = reader.int16();
  reader.skip(4);
  const partitions: FetchedPartition[] = [];
  for (let topics = reader.length(); topics > 0; topics--) {
    reader.skip(version < firstVersionWithIds ? reader.length() : idSize);
    for (let count = reader.length(); count > 0; count--) partitions.push(readPartition(reader));
    reader.skipTags();
  }
  return { throttle, error, partitions };
}

function readPartition(reader: ByteReader): FetchedPartition {
  const number = reader.int32();
  const error = reader.int16();
  reader.skip(offsetsSize);
  const aborted: AbortedTransaction[] = [];
  for (let count = reader.length(); count > 0; count--) {
    aborted.push({ producerId: reader.int64(), firstOffset: reader.int64() });
    reader.skipTags();
  }
  reader.skip(4);
  const size = Math.max(0, reader.length());
  const start = reader.skip(size);
  const records = reader.buffer.subarray(start, start + size);
  reader.skipTags();
  return { number, error, aborted, records };
}
