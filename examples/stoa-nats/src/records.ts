import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { IncomingRecord, OutgoingRecord } from "stoa/messaging";

export function headersOf(record: OutgoingRecord): MsgHdrs {
  const all = headers();
  for (const [name, value] of Object.entries(record.headers)) all.set(name, value);
  all.set("stoa-id", record.id);
  all.set("stoa-time", String(record.timestamp));
  if (record.key !== null) all.set("stoa-key", Buffer.from(record.key).toString("base64url"));
  return all;
}

/** A record from its message. One that another program has published has the id of its place in the stream. */
export function recordOf(body: Uint8Array, given: MsgHdrs | undefined, place: string, stored: Date): IncomingRecord {
  const all = [...(given ?? [])].map(([name, values]) => [name.toLowerCase(), values.join(", ")]);
  const { "stoa-id": id = place, "stoa-key": base64, "stoa-time": time, ...headers } = Object.fromEntries(all);
  const key = base64 === undefined ? null : Buffer.from(base64, "base64url").toString();
  return { id, key, headers, body, timestamp: Number(time ?? stored) };
}
