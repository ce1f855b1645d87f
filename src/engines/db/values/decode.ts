import { parseArray } from "./arrays.js";
import { parseBytes } from "./bytes.js";
import { elementOf, oid } from "./oids.js";
import { parseTimestamp } from "./timestamps.js";

/** Makes a value of the text from the server. */
export type Decoder = (text: string) => unknown;

const asText: Decoder = (text) => text;
const asNumber: Decoder = (text) => Number(text);

/** Types whose text is not already the value. The rest stay text: numeric, date, time, interval, uuid, ranges, enums. */
const decoders = new Map<number, Decoder>([
  [oid.bool, (text) => text === "t"],
  [oid.bytea, parseBytes],
  [oid.int2, asNumber],
  [oid.int4, asNumber],
  [oid.int8, decodeInt8],
  [oid.oid, asNumber],
  [oid.float4, asNumber],
  [oid.float8, asNumber],
  [oid.json, (text) => JSON.parse(text) as unknown],
  [oid.jsonb, (text) => JSON.parse(text) as unknown],
  [oid.timestamp, parseTimestamp],
  [oid.timestamptz, parseTimestamp],
]);

for (const [array, element] of elementOf) {
  const decode = decoders.get(element) ?? asText;
  decoders.set(array, (text) => parseArray(text, decode));
}

export function decoderOf(type: number): Decoder {
  return decoders.get(type) ?? asText;
}

/** A number as long as that is exact, a bigint beyond. */
export function decodeInt8(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
