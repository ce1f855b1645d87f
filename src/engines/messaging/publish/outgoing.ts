import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { nodeCrypto } from "../../../kit/node-modules.js";
import { type Check, is } from "../../../kit/options.js";
import { milliseconds } from "../../../kit/time/duration.js";
import type { Span } from "../../../kit/tracer.js";
import { ValueError } from "../../../kit/value-error.js";
import type { OutgoingRecord } from "../broker.js";
import { codecOf } from "../codec.js";
import { frameworkHeaders, readHeaders } from "../headers.js";
import type { Topic } from "../topic.js";
import { injectTrace } from "../trace.js";
import { checkOutgoing, encodeValue, tombstone } from "../values.js";

const isKey: Check<string | null> = (value) =>
  value === null || (typeof value === "string" && value.length <= 1000)
    ? undefined
    : "null, or a string of at most 1000 characters";

const isId: Check<string> = (value) =>
  typeof value === "string" && /^[\w.:-]{1,200}$/.test(value) ? undefined : "1 to 200 plain characters";

/** Options of publishes and of requests. */
export const publishFields = {
  /** Messages of one key are handled in order. Default: the key of the topic's declaration, or none. */
  key: option(isKey),
  /** Header fields. */
  headers: option<Readonly<Record<string, string>>>(is.record),
  /** The id, for a program that has one: consumers that are idempotent handle each id once. Default: a new UUID. */
  id: option(isId),
  /** True publishes the value null as a tombstone, which deletes its key from a compacted topic. Default false. */
  tombstone: option(is.boolean, false),
};

const publishOptions = options("publish()", {
  ...publishFields,
  /** Time until the message may be delivered, where the broker can. Default 0. */
  delay: option.duration(0, 0, "365d"),
});

export interface PublishOptions extends OptionsOf<typeof publishOptions.fields> {}

/** The type of the values that a topic takes. */
export type PublishedValue<T> = T extends Topic<infer In, infer _Out, infer _Reply> ? In : unknown;

/** One message of a batch. */
export interface BatchEntry<Value> extends PublishOptions {
  readonly value: Value;
}

/** The result of a publish. */
export interface Published {
  readonly id: string;
}

const nothing: Partial<SettingsOf<typeof publishOptions.fields>> = Object.freeze({});

/** In place of the bytes that a codec makes. */
const notEncoded = encodeValue(new Uint8Array(0));

/** A record from a value and the options of a publish; throws or rejects what does not fit the topic. */
export function outgoing(
  topic: Topic,
  value: unknown,
  options: unknown,
  span: Span | null,
): OutgoingRecord | Promise<OutgoingRecord> {
  const given = options === undefined ? nothing : publishOptions.readGiven([options], `publish('${topic.name}')`);
  const headers = readHeaders(given.headers);
  injectTrace(headers, span);
  const codec = codecOf(topic.schema);
  const { body, contentType } = given.tombstone ? tombstone(value) : codec === null ? encodeValue(value) : notEncoded;
  if (given.tombstone) {
    if (given.key == null) throw new ValueError(`a tombstone of '${topic.name}' needs the key that it deletes`);
    headers[frameworkHeaders.contentType] = contentType;
  }
  headers[frameworkHeaders.contentType] ??= contentType;
  const record: OutgoingRecord = {
    topic: topic.name,
    id: given.id ?? nodeCrypto().randomUUID(),
    key: given.key === undefined ? (topic.key?.(value) ?? null) : given.key,
    headers,
    body,
    timestamp: Date.now(),
    delayMs: milliseconds(given.delay ?? 0),
  };
  if (codec === null) {
    return topic.schema === null ? record : checkOutgoing(topic.name, topic.schema, value, body).then(() => record);
  }
  return given.tombstone ? record : codec.encode(topic.name, value).then((encoded) => ({ ...record, body: encoded }));
}
