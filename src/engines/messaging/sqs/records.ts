import type { IncomingRecord, OutgoingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { foreignId, foreignTime } from "../foreign.js";
import { frameworkHeaders } from "../headers.js";
import type { SqsMessage, SqsSendEntry } from "./library.js";

/** SQS takes at most ten attributes: id, key, time and headers go into one. */
const attribute = "stoa";
/** Bytes of a message with its attributes, and of a request: of SQS and of SNS. */
export const largestMessage = 1_048_576;
export const largestNotice = 262_144;

interface Envelope {
  readonly id: string;
  readonly key: string | null;
  readonly time: number;
  readonly base64?: true;
  readonly headers: Readonly<Record<string, string>>;
}

/** SQS takes no empty body. This one is base64 of nothing. */
const noBytes = "=";
/** Characters that SQS takes in a body: those that XML can hold. */
const allowed = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]+$/u;

type EntryRecord = Omit<OutgoingRecord, "topic" | "delayMs">;

/** An entry of a batch. A message over the limit is refused here, before it is sent. */
export function entryOf(
  record: EntryRecord,
  options: {
    readonly index: number;
    readonly delayMs: number;
    readonly group: string | null;
    readonly deduplicate: string;
    /** The most bytes. */
    readonly limit: number;
  },
): SqsSendEntry {
  const { id, key, headers, timestamp: time } = record;
  const text = textOf(record.body);
  const base64 = text === null;
  const body = text ?? (Buffer.from(record.body).toString("base64") || noBytes);
  const envelope: Envelope = { id, key, time, headers, ...(base64 && { base64 }) };
  const value = JSON.stringify(envelope);
  const size = Buffer.byteLength(body) + Buffer.byteLength(value) + attribute.length + "String".length;
  if (size > options.limit) {
    throw new MessagingError("TOO_LARGE", `the message has ${size} bytes; the sqs broker takes ${options.limit}`);
  }
  return {
    Id: String(options.index),
    MessageBody: body,
    MessageAttributes: { [attribute]: { DataType: "String", StringValue: value } },
    ...(options.delayMs > 0 && { DelaySeconds: Math.ceil(options.delayMs / 1000) }),
    ...(options.group !== null && { MessageGroupId: options.group, MessageDeduplicationId: options.deduplicate }),
  };
}

export function entrySize({ MessageBody, MessageAttributes }: SqsSendEntry): number {
  return Buffer.byteLength(MessageBody) + Buffer.byteLength(MessageAttributes[attribute]?.StringValue ?? "") + 100;
}

/** A record from a message of any sender. */
export function recordOf(message: SqsMessage): IncomingRecord {
  const { MessageId, Body = "", Attributes = {}, MessageAttributes = {} } = message;
  const sent = Number(Attributes.SentTimestamp) || Date.now();
  const envelope = readEnvelope(MessageAttributes[attribute]?.StringValue, sent);
  if (envelope === null) {
    const headers: Record<string, string> = {};
    for (const [name, { StringValue }] of Object.entries(MessageAttributes)) {
      if (StringValue !== undefined) headers[name.toLowerCase()] = StringValue;
    }
    const key = Attributes.MessageGroupId ?? null;
    return { id: MessageId, key, headers, body: Buffer.from(Body), timestamp: sent };
  }
  const { id, key, headers, time, base64 } = envelope;
  return { id, key, headers, body: Buffer.from(Body, base64 ? "base64" : "utf8"), timestamp: time };
}

/** Times that the message was received before without being deleted. */
export function earlierOf({ Attributes }: SqsMessage): number {
  return Math.max(0, (Number(Attributes?.ApproximateReceiveCount) || 1) - 1);
}

/** Foreign programs can write the attribute too: anything that is not an envelope is a header like any other. */
function readEnvelope(text: string | undefined, sent: number): Envelope | null {
  if (text === undefined) return null;
  try {
    const value = JSON.parse(text) as Partial<Envelope> | null;
    if (typeof value !== "object" || value === null) return null;
    const { key, headers, base64 } = value;
    const id = foreignId(value.id);
    const time = foreignTime(Number(value.time)) ?? sent;
    if (id === null || typeof headers !== "object" || headers === null) return null;
    const texts = Object.entries(headers).filter(([, header]) => typeof header === "string");
    return {
      id,
      key: typeof key === "string" ? key : null,
      time,
      headers: Object.fromEntries(texts),
      ...(base64 === true && { base64 }),
    };
  } catch {
    return null;
  }
}

function textOf(body: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return allowed.test(text) ? text : null;
  } catch {
    return null;
  }
}

/** The key of order in a FIFO queue: its own for a message without a key. */
export function groupOf({ key, id }: { readonly key: string | null; readonly id: string }): string {
  // An empty key is a key too, but no name of a group.
  const given = key === "" ? "-" : (key ?? id);
  return /^[\w!"#$%&'()*+,\-./:;<=>?@[\\\]^`{|}~]{1,128}$/.test(given)
    ? given
    : Buffer.from(given).toString("base64url").slice(0, 128);
}

/** The headers of a copy that is sent again. */
export function copyOf(record: IncomingRecord, headers: Readonly<Record<string, string>>): EntryRecord {
  return {
    ...record,
    headers: {
      ...headers,
      [frameworkHeaders.contentType]: headers[frameworkHeaders.contentType] ?? "application/json",
    },
  };
}
