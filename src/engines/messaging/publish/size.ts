import type { Broker, OutgoingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";

/** The bytes of a record with its headers, as limits count them. */
export function sizeOf({ body, headers, key }: OutgoingRecord): number {
  let size = body.length + (key === null ? 0 : Buffer.byteLength(key));
  for (const name in headers) size += name.length + Buffer.byteLength(headers[name]!);
  return size;
}

/** The error for a message that is larger than the broker takes; null for any other. */
export function tooLarge({ topic }: OutgoingRecord, size: number, { name, abilities }: Broker): MessagingError | null {
  if (size <= abilities.maxBytes) return null;
  const text = `the message for '${topic}' has ${size} bytes; the ${name} broker takes ${abilities.maxBytes}`;
  return new MessagingError("TOO_LARGE", text);
}

/** The bytes of a record. Throws for one that is larger than the broker takes. */
export function refuseTooLarge(record: OutgoingRecord, broker: Broker): number {
  const size = sizeOf(record);
  const error = tooLarge(record, size, broker);
  if (error !== null) throw error;
  return size;
}
