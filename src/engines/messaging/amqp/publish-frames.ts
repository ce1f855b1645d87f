import type { OutgoingRecord } from "../broker.js";
import { latestTime } from "../foreign.js";
import { frameworkHeaders } from "../headers.js";
import { keyHeader, timeHeader } from "./records.js";

/** A record on its way to an exchange. */
export interface Publish {
  readonly record: OutgoingRecord;
  readonly exchange: string;
  readonly routingKey: string;
  /** True if the broker returns a message that no queue would receive. */
  readonly mandatory: boolean;
}

// AMQP 0-9-1, section 4.2.3: a frame is its type, channel, size, payload and this last byte.
const frameEnd = 0xce;
const frameHead = 7;
const methodFrame = 1;
const headerFrame = 2;
const bodyFrame = 3;
const basicClass = 60;
const publishMethod = 40;

// Section 4.2.6.1 and the fields of the class `basic`: the flags of the properties, in the order in which they are written.
const hasContentType = 0x8000;
const hasHeaders = 0x2000;
const hasDeliveryMode = 0x1000;
const hasCorrelation = 0x0400;
const hasReplyTo = 0x0200;
const hasMessageId = 0x0080;
const hasTimestamp = 0x0040;
const persistent = 2;
const longString = 0x53;

const longestShort = 255;
/** The bytes of the frames that do not depend on the record, rounded up. */
const fixedBytes = 160;
/** The bytes of an entry of the table of headers beside its texts. */
const entryBytes = 6;
/** A UTF-16 unit takes so many bytes at most. */
const widest = 3;

/**
 * The bytes that the frames of a publish take at most. Infinity for a record that AMQP cannot hold, like one with a routing key
 * of over 255 bytes.
 */
export function mostBytes({ record, exchange, routingKey }: Publish): number {
  const { id, key, headers, body, timestamp } = record;
  let fits = isShort(exchange) && isShort(routingKey) && isShort(id) && timestamp >= 0 && timestamp <= latestTime;
  let characters = exchange.length + routingKey.length + id.length + (key?.length ?? 0);
  let entries = 0;
  for (const name in headers) {
    const value = headers[name]!;
    fits &&= isShort(isProperty(name) ? value : name);
    characters += name.length + value.length;
    entries++;
  }
  return fits ? fixedBytes + entries * entryBytes + characters * widest + body.length : Number.POSITIVE_INFINITY;
}

/** Writes the frames of a publish and returns their end. There must be room for `mostBytes`, and the body must fit one frame. */
export function writePublish(target: Buffer, start: number, channel: number, publish: Publish): number {
  const { record, exchange, routingKey, mandatory } = publish;
  let at = start + frameHead;
  at = writeShort(target, at, basicClass);
  at = writeShort(target, at, publishMethod);
  // A field that is reserved.
  at = writeShort(target, at, 0);
  at = writeShortText(target, at, exchange);
  at = writeShortText(target, at, routingKey);
  target[at++] = mandatory ? 1 : 0;
  at = endFrame(target, start, at, methodFrame, channel);
  at = writeProperties(target, at, channel, record);
  return writeBody(target, at, channel, record.body);
}

function writeProperties(target: Buffer, start: number, channel: number, record: OutgoingRecord): number {
  const { headers, id, timestamp } = record;
  const contentType = headers[frameworkHeaders.contentType];
  const correlation = headers[frameworkHeaders.correlation];
  const replyTo = headers[frameworkHeaders.replyTo];
  let at = start + frameHead;
  at = writeShort(target, at, basicClass);
  // The weight, which is always 0.
  at = writeShort(target, at, 0);
  at = writeLongLong(target, at, record.body.length);
  let flags = hasHeaders | hasDeliveryMode | hasMessageId | hasTimestamp;
  if (contentType !== undefined) flags |= hasContentType;
  if (correlation !== undefined) flags |= hasCorrelation;
  if (replyTo !== undefined) flags |= hasReplyTo;
  at = writeShort(target, at, flags);
  if (contentType !== undefined) at = writeShortText(target, at, contentType);
  at = writeHeaders(target, at, record);
  target[at++] = persistent;
  if (correlation !== undefined) at = writeShortText(target, at, correlation);
  if (replyTo !== undefined) at = writeShortText(target, at, replyTo);
  at = writeShortText(target, at, id);
  at = writeLongLong(target, at, Math.floor(timestamp / 1000));
  return endFrame(target, start, at, headerFrame, channel);
}

/** The table of the headers that have no separate property, in the order of `propertiesOf`. */
function writeHeaders(target: Buffer, start: number, { headers, key, timestamp }: OutgoingRecord): number {
  let at = writeEntry(target, start + 4, timeHeader, String(timestamp));
  for (const name in headers) {
    if (!isProperty(name)) at = writeEntry(target, at, name, headers[name]!);
  }
  if (key !== null) at = writeEntry(target, at, keyHeader, key);
  writeLong(target, start, at - start - 4);
  return at;
}

function writeEntry(target: Buffer, start: number, name: string, value: string): number {
  let at = writeShortText(target, start, name);
  target[at++] = longString;
  const length = writeText(target, at + 4, value);
  writeLong(target, at, length);
  return at + 4 + length;
}

function writeBody(target: Buffer, start: number, channel: number, body: Uint8Array): number {
  // An empty body has no frame.
  if (body.length === 0) return start;
  target.set(body, start + frameHead);
  return endFrame(target, start, start + frameHead + body.length, bodyFrame, channel);
}

function isShort(text: string): boolean {
  return text.length * widest <= longestShort || Buffer.byteLength(text) <= longestShort;
}

/** True for a header that AMQP has a property for. */
function isProperty(name: string): boolean {
  return (
    name === frameworkHeaders.contentType || name === frameworkHeaders.replyTo || name === frameworkHeaders.correlation
  );
}

/** Completes the frame whose payload ends here. */
function endFrame(target: Buffer, start: number, end: number, type: number, channel: number): number {
  target[start] = type;
  writeShort(target, start + 1, channel);
  writeLong(target, start + 3, end - start - frameHead);
  target[end] = frameEnd;
  return end + 1;
}

/** A text of at most 255 bytes. */
function writeShortText(target: Buffer, at: number, text: string): number {
  const length = writeText(target, at + 1, text);
  target[at] = length;
  return at + 1 + length;
}

/** Writes a text in UTF-8 and returns its bytes. A call out of JavaScript costs more than a short text itself. */
function writeText(target: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length > 48) return target.write(text, at);
  for (let place = 0; place < length; place++) {
    const code = text.charCodeAt(place);
    if (code > 0x7f) return target.write(text, at);
    target[at + place] = code;
  }
  return length;
}

function writeShort(target: Buffer, at: number, value: number): number {
  target[at] = value >>> 8;
  target[at + 1] = value & 0xff;
  return at + 2;
}

function writeLong(target: Buffer, at: number, value: number): number {
  return writeShort(target, writeShort(target, at, value >>> 16), value & 0xffff);
}

function writeLongLong(target: Buffer, at: number, value: number): number {
  return writeLong(target, writeLong(target, at, Math.floor(value / 0x1_0000_0000)), value >>> 0);
}
