import { nodeCrypto } from "../../../internal/node-modules.js";
import { type Checks, is, readOptions } from "../../../internal/options.js";
import type { Span } from "../../../internal/tracer.js";
import type { OutgoingRecord } from "../broker.js";
import { own, readHeaders } from "../headers.js";
import type { Topic } from "../topic.js";
import { injectTrace } from "../trace.js";
import { checkOutgoing, encodeValue } from "../values.js";

export interface PublishOptions {
  /** Messages of one key are handled in order. Default: the key of the topic's declaration, or none. */
  readonly key?: string | null;
  /** Header fields. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds until the message may be delivered, where the broker can. Default 0. */
  readonly delay?: number;
  /** The id, for a program that has one: consumers that are idempotent handle each id once. Default: a new UUID. */
  readonly id?: string;
}

const checks: Checks<PublishOptions> = {
  key: is.either(is.oneOf(null), (value) =>
    typeof value === "string" && value.length <= 1000 ? undefined : "a string of at most 1000 characters",
  ),
  headers: is.object,
  delay: is.number(0, 31_536_000),
  id: (value) =>
    typeof value === "string" && /^[\w.:-]{1,200}$/.test(value) ? undefined : "1 to 200 plain characters",
};

const nothing: PublishOptions = Object.freeze({});

/** A record from a value and the options of a publish; throws or rejects what does not fit the topic. */
export function outgoing(
  topic: Topic,
  value: unknown,
  options: unknown,
  span: Span | null,
): OutgoingRecord | Promise<OutgoingRecord> {
  const given =
    options === undefined ? nothing : readOptions<PublishOptions>(`publish('${topic.name}')`, options, checks);
  const headers = readHeaders(given.headers);
  injectTrace(headers, span);
  const { body, contentType } = encodeValue(value);
  headers[own.contentType] ??= contentType;
  const record: OutgoingRecord = {
    topic: topic.name,
    id: given.id ?? nodeCrypto().randomUUID(),
    key: given.key === undefined ? (topic.key?.(value) ?? null) : given.key,
    headers,
    body,
    timestamp: Date.now(),
    delay: Math.round((given.delay ?? 0) * 1000),
  };
  return topic.schema === null ? record : checkOutgoing(topic.name, topic.schema, value, body).then(() => record);
}
