import type { IncomingRecord } from "../../broker.js";
import { foreignId, foreignTime } from "../../foreign.js";
import { frameworkHeaders, noValue } from "../../headers.js";
import { idHeader } from "../records.js";
import { type ByteReader, CorruptError } from "./byte-reader.js";

const empty = new Uint8Array(0);

/** The head of a batch, as far as its records need it. */
export interface BatchHead {
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: bigint;
  readonly firstTimestamp: number;
  /** The time of all records, where the broker sets it; null where the producers do. */
  readonly appendTime: number | null;
  readonly count: number;
}

/** The records of one batch, one after the other. */
export class BatchRecords {
  /** The offset of the record that was taken last. */
  offset = -1n;
  readonly #reader: ByteReader;
  readonly #head: BatchHead;
  #left: number;

  constructor(reader: ByteReader, head: BatchHead) {
    this.#reader = reader;
    this.#head = head;
    this.#left = head.count;
  }

  /** The next record from this offset on; null at the end. */
  take(from: bigint): IncomingRecord | null {
    const reader = this.#reader;
    const { firstOffset, firstTimestamp, appendTime } = this.#head;
    while (this.#left > 0) {
      this.#left--;
      const size = reader.signed();
      const end = reader.skip(size) + size;
      // Back to the beginning, and over the attributes, which no record has.
      reader.position = end - size + 1;
      const timestamp = firstTimestamp + reader.signed();
      this.offset = firstOffset + BigInt(reader.signed());
      if (this.offset >= from) return this.#read(appendTime ?? timestamp, end);
      reader.position = end;
    }
    return null;
  }

  #read(timestamp: number, end: number): IncomingRecord {
    const reader = this.#reader;
    const { buffer } = reader;
    const keySize = reader.signed();
    const key = keySize < 0 ? null : buffer.toString("utf8", reader.skip(keySize), reader.position);
    const bodySize = reader.signed();
    const body = bodySize < 0 ? empty : buffer.subarray(reader.skip(bodySize), reader.position);
    let id: string | null = null;
    const headers: Record<string, string> = {};
    for (let count = reader.signed(); count > 0; count--) {
      const name = textOf(reader);
      const text = textOf(reader);
      if (name === idHeader) id = foreignId(text);
      else headers[name.toLowerCase()] = text;
    }
    if (bodySize < 0) headers[frameworkHeaders.contentType] = noValue;
    else if (bodySize === 0 && headers[frameworkHeaders.contentType] === noValue)
      delete headers[frameworkHeaders.contentType];
    if (reader.position !== end) throw new CorruptError("a record has another length than it says");
    const { topic, partition } = this.#head;
    // The place of a foreign message is as good as an id: it stays the same.
    const placed = id ?? `${topic}-${partition}-${this.offset}`;
    return { id: placed, key, headers, body, timestamp: foreignTime(timestamp) ?? Date.now() };
  }
}

/** Texts of headers that most messages have: comparing the bytes costs less than decoding them. By their length. */
const frequent: string[][] = [];
for (const each of [idHeader, frameworkHeaders.contentType, "application/json", "traceparent"])
  (frequent[each.length] ??= []).push(each);

/** A name or a value of a header; "" for null. */
function textOf(reader: ByteReader): string {
  const size = reader.signed();
  if (size <= 0) return "";
  const start = reader.skip(size);
  const { buffer } = reader;
  return frequent[size]?.find((text) => isAt(buffer, start, text)) ?? buffer.toString("utf8", start, start + size);
}

function isAt(buffer: Buffer, start: number, text: string): boolean {
  for (let place = 0; place < text.length; place++) {
    if (buffer[start + place] !== text.charCodeAt(place)) return false;
  }
  return true;
}
