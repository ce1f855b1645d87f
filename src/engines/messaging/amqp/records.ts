import { createHash, randomUUID } from "node:crypto";
import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { foreignId, foreignTime } from "../foreign.js";
import { frameworkHeaders } from "../headers.js";
import { suspectAfter } from "../suspects.js";
import type { AmqpMessage } from "./amqplib.js";
import { destinationHeader } from "./delays.js";

export const keyHeader = "stoa-key";
/** AMQP has whole seconds only. */
export const timeHeader = "stoa-time";
const ours: ReadonlySet<string> = new Set([keyHeader, timeHeader, destinationHeader]);
const internal = /^x-(?:death|first-death-.+|last-death-.+|delivery-count|acquired-count)$/;
const longestHeader = 8192;
/** Bytes of a property. */
const longestProperty = 255;

const propertyNames: ReadonlyMap<string, string> = new Map([
  [frameworkHeaders.contentType, "contentType"],
  [frameworkHeaders.replyTo, "replyTo"],
  [frameworkHeaders.correlation, "correlationId"],
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
  // Some have a separate property, which other programs know too. Each entry of the table of headers costs the broker.
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
    if (ours.has(name) || (name.startsWith("x-") && internal.test(name))) continue;
    // The second routing key of a message that has waited.
    if (name === "CC" && given[destinationHeader] !== undefined) continue;
    headers[name.toLowerCase()] = textOf(given[name]);
  }
  if (properties.contentType !== undefined) headers[frameworkHeaders.contentType] ??= properties.contentType;
  // Separate properties in AMQP: requests of other programs have them too.
  if (properties.replyTo) headers[frameworkHeaders.replyTo] = properties.replyTo;
  if (properties.correlationId) headers[frameworkHeaders.correlation] = properties.correlationId;
  return {
    // A foreign message without an id has none that would survive another delivery.
    id: foreignId(properties.messageId) ?? randomUUID(),
    key: keyOf(message),
    headers,
    body: content,
    timestamp: timeOf(given[timeHeader]) ?? foreignTime((properties.timestamp ?? 0) * 1000) ?? Date.now(),
  };
}

export function keyOf({ properties }: AmqpMessage): string | null {
  const key = properties.headers?.[keyHeader];
  return typeof key === "string" ? key : null;
}

/**
 * Names a message of a queue; null if it has no id. Copies of ours for another attempt have the same id. Other programs may
 * give one id to several messages: then their bytes count too.
 */
export function identityOf({ properties, content }: AmqpMessage, { id, headers }: IncomingRecord): string | null {
  if (foreignId(properties.messageId) === null) return null;
  const copy = `${headers[frameworkHeaders.attempt] ?? ""}/${headers[frameworkHeaders.replays] ?? ""}`;
  if (properties.headers?.[timeHeader] !== undefined) return `${id}/${copy}`;
  return `${id}/${copy}/${createHash("sha1").update(content).digest("base64")}`;
}

/** A dead letter. One that the broker made itself gets the reason from the broker's headers. */
export function deadRecordOf(message: AmqpMessage, topic: string): IncomingRecord {
  const record = recordOf(message);
  const given = message.properties.headers ?? {};
  if (record.headers[frameworkHeaders.reason] !== undefined || given["x-first-death-reason"] === undefined)
    return record;
  const queue = textOf(given["x-first-death-queue"]).replace(/:suspects$/, "");
  const headers = {
    ...record.headers,
    [frameworkHeaders.reason]: "undeliverable",
    [frameworkHeaders.error]: `dead-lettered by the broker: ${textOf(given["x-first-death-reason"])}`,
    [frameworkHeaders.deadTopic]: topic,
    [frameworkHeaders.deadGroup]: queue.startsWith(`${topic}.`) ? queue.slice(topic.length + 1) : queue,
  };
  return { ...record, headers };
}

/** Times that a queue has delivered the message before without a result; null for a queue that does not count. */
function deliveriesBefore({ properties }: AmqpMessage): number | null {
  const count = properties.headers?.["x-delivery-count"];
  return typeof count === "number" ? count : null;
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

/**
 * True for a message that may have killed its process. Its queue counts all messages that the process had taken over, and not
 * only those whose handlers ran. So a suspect is moved to a queue from which each process takes one message at a time, when no other
 * handler of the consumer runs: the count of that queue is the count of deaths that this message has caused.
 */
export function isSuspect(message: AmqpMessage, withoutCount: boolean): boolean {
  // One that cannot be read has no handler.
  if (!message.fields.redelivered || message.properties.unreadable !== undefined) return false;
  // Classic queues do not count.
  const before = deliveriesBefore(message);
  return before === null ? withoutCount : before >= suspectAfter;
}

/** Times that a suspect was delivered before without a result; 0 for one that has not been handled alone yet. */
export function earlierOf(message: AmqpMessage): number {
  const alone = message.fields.redelivered ? (deliveriesBefore(message) ?? 0) : 0;
  return alone === 0 ? 0 : suspectAfter + alone;
}
