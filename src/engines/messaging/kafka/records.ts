import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import type { KafkaOutgoing } from "./library.js";

/** The header with the id of a message. */
export const idHeader = "stoa-id";

export function messageOf(record: OutgoingRecord): KafkaOutgoing {
  const { topic, key, id, headers, body, timestamp } = record;
  return {
    topic,
    ...(key !== null && { key }),
    value: Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    headers: { ...headers, [idHeader]: id },
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
