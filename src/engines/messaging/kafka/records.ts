import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import type { KafkaIncoming, KafkaOutgoing } from "./library.js";

const idHeader = "stoa-id";
const empty = new Uint8Array(0);

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

/** A record from a message of any producer. */
export function recordOf(message: KafkaIncoming): IncomingRecord {
  const { topic, partition, offset, key, value, timestamp } = message;
  const headers: Record<string, string> = {};
  for (const [name, text] of message.headers) if (name !== idHeader) headers[String(name).toLowerCase()] = text ?? "";
  return {
    // The place of a foreign message is as good as an id: it stays the same.
    id: message.headers.get(idHeader) ?? `${topic}-${partition}-${offset}`,
    key: key ?? null,
    headers,
    body: value ?? empty,
    timestamp: Number(timestamp),
  };
}
