import { type Decoder, decodeInt8, decoderOf } from "./decode.js";
import { oid } from "./oids.js";
import { parseTimestamp } from "./timestamps.js";

/**
 * Makes a value of the bytes that the server sent for it. For the types that most columns have this takes a fraction of
 * the time that it takes to make a string of them first.
 */
export type Reader = (bytes: Buffer, start: number, end: number) => unknown;

export function readerOf(type: number): Reader {
  return readers.get(type) ?? readerFor(decoderOf(type));
}

export const readText: Reader = (bytes, start, end) => bytes.toString("utf8", start, end);

function readerFor(decode: Decoder): Reader {
  return decode === asText ? readText : (bytes, start, end) => decode(bytes.toString("utf8", start, end));
}

const asText = decoderOf(oid.text);
const minus = 45;
const plus = 43;
const dot = 46;
const zero = 48;
const nine = 57;
const space = 32;
const t = 116;

const readers = new Map<number, Reader>([
  [oid.bool, (bytes, start) => bytes[start] === t],
  [oid.int2, readInteger],
  [oid.int4, readInteger],
  [oid.oid, readInteger],
  [oid.int8, readInt8],
  [oid.float4, readFloat],
  [oid.float8, readFloat],
  [oid.timestamp, readTimestamp],
  [oid.timestamptz, readTimestamp],
]);

function readInteger(bytes: Buffer, start: number, end: number): number {
  const negative = bytes[start] === minus;
  let value = 0;
  for (let i = negative ? start + 1 : start; i < end; i++) value = value * 10 + (bytes[i]! - zero);
  return negative ? -value : value;
}

/** A double holds all integers of as many digits, and so each step on the way there. */
const exactDigits = 15;

function readInt8(bytes: Buffer, start: number, end: number): number | bigint {
  if (end - start <= exactDigits) return readInteger(bytes, start, end);
  return decodeInt8(bytes.toString("latin1", start, end));
}

const powersOfTen = Array.from({ length: exactDigits + 1 }, (_, exponent) => 10 ** exponent);

/** Few digits make two exact integers, and the quotient of these is rounded as the text would be. */
function readFloat(bytes: Buffer, start: number, end: number): number {
  const negative = bytes[start] === minus;
  let value = 0;
  let fraction = end;
  for (let i = negative ? start + 1 : start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte >= zero && byte <= nine && end - start <= exactDigits) value = value * 10 + (byte - zero);
    else if (byte === dot && end - start <= exactDigits) fraction = i + 1;
    else return Number(bytes.toString("latin1", start, end));
  }
  if (fraction < end) value /= powersOfTen[end - fraction]!;
  return negative ? -value : value;
}

/** `2024-05-01 12:34:56.789+00`, as most are; `parseTimestamp` knows the rest. */
function readTimestamp(bytes: Buffer, start: number, end: number): Date | number {
  const utc = bytes[end - 3] === plus && bytes[end - 2] === zero && bytes[end - 1] === zero;
  const stop = utc ? end - 3 : end;
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  let millisecond = 0;
  let usual = bytes[start + 10] === space && year >= 100 && stop >= start + 19;
  if (usual && stop > start + 19) {
    usual = bytes[start + 19] === dot;
    let weight = 100;
    for (let i = start + 20; i < stop && usual; i++) {
      const byte = bytes[i]!;
      usual = byte >= zero && byte <= nine;
      if (weight >= 1) millisecond += (byte - zero) * weight;
      weight /= 10;
    }
  }
  if (!usual) return parseTimestamp(bytes.toString("latin1", start, end));
  return new Date(
    Date.UTC(
      year,
      twoDigits(bytes, start + 5) - 1,
      twoDigits(bytes, start + 8),
      twoDigits(bytes, start + 11),
      twoDigits(bytes, start + 14),
      twoDigits(bytes, start + 17),
      millisecond,
    ),
  );
}

function twoDigits(bytes: Buffer, at: number): number {
  return (bytes[at]! - zero) * 10 + (bytes[at + 1]! - zero);
}
