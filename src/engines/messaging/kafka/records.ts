import type { OutgoingRecord } from "../broker.js";
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

/** The place of a record, as attributes of its span. */
export function placeAttributes(partition: number, offset: bigint): Record<string, string | number> {
  return { "messaging.destination.partition.id": String(partition), "messaging.kafka.offset": Number(offset) };
}
