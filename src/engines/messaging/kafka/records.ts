import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { frameworkHeaders, isTombstone } from "../headers.js";
import type { KafkaOutgoing } from "./library.js";

/** The header with the id of a message. */
export const idHeader = "stoa-id";

export function messageOf(record: OutgoingRecord): KafkaOutgoing {
  const { topic, key, id, body, timestamp } = record;
  const headers: Record<string, string> = { ...record.headers, [idHeader]: id };
  const isNull = isTombstone(record);
  if (isNull) delete headers[frameworkHeaders.contentType];
  return {
    topic,
    ...(key !== null && { key }),
    ...(!isNull && {
      value: Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    }),
    headers,
    timestamp: BigInt(timestamp),
  };
}

/** Names a stored record. The offset alone would be that of another one after its topic was made again. */
export function identityOf(number: number, offset: bigint, { id, timestamp }: RecordMark): string {
  return `${number}/${offset}/${timestamp}/${id}`;
}

/** The part of a record that tells it from others at its place. */
export type RecordMark = Pick<IncomingRecord, "id" | "timestamp">;

/** The place of a record, as attributes of its span. */
export function placeAttributes(partition: number, offset: bigint): Record<string, string | number> {
  return { "messaging.destination.partition.id": String(partition), "messaging.kafka.offset": Number(offset) };
}
