import { randomUUID } from "node:crypto";
import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { foreignId, foreignTime } from "../foreign.js";
import { own } from "../headers.js";
import type { AmqpMessage } from "./amqplib.js";

export const keyHeader = "stoa-key";
/** AMQP has whole seconds only. */
export const timeHeader = "stoa-time";
const internal = /^x-(?:death|first-death-.+|last-death-.+|delivery-count|acquired-count)$/;
const longestHeader = 8192;
/** Bytes of a property. */
const longestProperty = 255;

const propertyNames: ReadonlyMap<string, string> = new Map([
  [own.contentType, "contentType"],
  [own.replyTo, "replyTo"],
  [own.correlation, "correlationId"],
]);

/** The properties of a message for a record. */
export function propertiesOf(record: OutgoingRecord): Record<string, unknown> {
  const { id, key, timestamp } = record;
  const headers: Record<string, string> = { [timeHeader]: String(timestamp) };
  const properties: Record<string, unknown> = {
    messageId: id,
    persistent: true,
    timestamp: Math.floor(timestamp / 1000),
    headers,
  };
  // Some have a property of their own, which other programs know too. Each entry of the table of headers costs the broker.
  for (const name in record.headers) {
    const value = record.headers[name]!;
    const property = propertyNames.get(name);
    if (property !== undefined && Buffer.byteLength(value) <= longestProperty) properties[property] = value;
    else headers[name] = value;
  }
  if (key !== null) headers[keyHeader] = key;
  return properties;
}

/** A record from a message of any publisher. */
export function recordOf(message: AmqpMessage): IncomingRecord {
  const { properties, content } = message;
  const given = properties.headers ?? {};
  const headers: Record<string, string> = {};
  for (const name in given) {
    if (name === timeHeader || name === keyHeader || (name.startsWith("x-") && internal.test(name))) continue;
    headers[name.toLowerCase()] = textOf(given[name]);
  }
  if (properties.contentType !== undefined) headers[own.contentType] ??= properties.contentType;
  // Properties of their own in AMQP: requests of other programs have them too.
  if (properties.replyTo) headers[own.replyTo] = properties.replyTo;
  if (properties.correlationId) headers[own.correlation] = properties.correlationId;
  return {
    // A foreign message without an id has none that would survive another delivery.
    id: foreignId(properties.messageId) ?? randomUUID(),
    key: typeof given[keyHeader] === "string" ? given[keyHeader] : null,
    headers,
    body: content,
    timestamp: timeOf(given[timeHeader]) ?? foreignTime((properties.timestamp ?? 0) * 1000) ?? Date.now(),
  };
}

/** A dead letter. One that the broker made itself gets the reason from the broker's headers. */
export function deadRecordOf(message: AmqpMessage, topic: string): IncomingRecord {
  const record = recordOf(message);
  const given = message.properties.headers ?? {};
  if (record.headers[own.reason] !== undefined || given["x-first-death-reason"] === undefined) return record;
  const queue = textOf(given["x-first-death-queue"]);
  const headers = {
    ...record.headers,
    [own.reason]: "undeliverable",
    [own.error]: `dead-lettered by the broker: ${textOf(given["x-first-death-reason"])}`,
    [own.deadTopic]: topic,
    [own.deadGroup]: queue.startsWith(`${topic}.`) ? queue.slice(topic.length + 1) : queue,
  };
  return { ...record, headers };
}

/** Times that a queue has delivered the message before without a result. Only quorum queues count them. */
export function earlierOf({ properties, fields }: AmqpMessage): number {
  // The count of a message that comes for the first time is not that of the queue: publishers can write the header too.
  if (!fields.redelivered) return 0;
  const count = properties.headers?.["x-delivery-count"];
  return typeof count === "number" ? count : 1;
}

/** The time in our header. A table there would not even be a number. */
function timeOf(given: unknown): number | null {
  return typeof given === "string" ? foreignTime(Number(given)) : null;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8").slice(0, longestHeader);
  return typeof value === "object" ? jsonOf(value).slice(0, longestHeader) : String(value);
}

/** A table or a list as text. One that is nested too deeply for that must not end the connection. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "";
  }
}
