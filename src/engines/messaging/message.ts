import { parseJson } from "../../http/json/json.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { inspectSymbol } from "../../kit/node-modules.js";
import { is } from "../../kit/options.js";
import type { Transaction } from "../db/database.js";
import type { IncomingRecord } from "./broker.js";
import { frameworkHeaders, isTombstone } from "./headers.js";
import { decodeValue } from "./values.js";

/** The result that a handler chose for its message. */
export type Decision =
  | { readonly kind: "ack" }
  | { readonly kind: "nack"; readonly reason: string; readonly delayMs: number | null }
  | { readonly kind: "requeue"; readonly delayMs: number | null }
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "deadLetter"; readonly reason: string };

export interface MessageParts {
  readonly topic: string;
  readonly record: IncomingRecord;
  readonly attempt: number;
  /** Has the signal of the attempt. */
  readonly held: { readonly signal: AbortSignal };
  readonly logger: Logger;
  /** The transaction of the inbox. */
  readonly tx?: Transaction | undefined;
  /** The value, if it has been decoded and checked. */
  readonly value?: { readonly value: unknown } | undefined;
}

const requeueFields = {
  /** Time until the message is handled again; a day at most. Default: the pause of the policy `retry`. */
  delay: option.duration(null, 0, "1d"),
};
const requeueOptions = options("requeue()", requeueFields);
const nackOptions = options("nack()", {
  /** Why, for the log and the dead letter. */
  reason: option(is.string, "refused by the handler"),
  ...requeueFields,
});

export interface RequeueOptions extends OptionsOf<typeof requeueFields> {}
export interface NackOptions extends OptionsOf<typeof nackOptions.fields> {}

export let decisionOf: (message: Message) => Decision | null;

/**
 * A message for a handler. A handler that returns has handled it. A handler that throws has failed: the message is handled
 * again later, and becomes a dead letter after the last attempt. The methods `ack`, `nack`, `requeue`, `reject` and
 * `deadLetter` choose another result; the first call counts, and takes effect when the handler ends.
 */
export class Message<Value = unknown> {
  /** The id of the message. It stays the same when the message is delivered again. */
  readonly id: string;
  readonly topic: string;
  /** Messages of one key are handled in order; null if it has no key. */
  readonly key: string | null;
  /** Header fields; names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The number of this attempt; 1 for the first. */
  readonly attempt: number;
  /** With `inbox: true` the transaction that holds the effect of the handler; undefined without. */
  readonly tx: Transaction | undefined;
  readonly #parts: MessageParts;
  #value: { readonly value: unknown } | undefined;
  #decision: Decision | null = null;
  #timestamp: Date | null = null;
  #log: Logger | null = null;

  static {
    decisionOf = (message) => message.#decision;
  }

  /** @internal */
  constructor(parts: MessageParts) {
    const { record } = parts;
    this.id = record.id;
    this.topic = parts.topic;
    this.key = record.key;
    this.headers = record.headers;
    this.attempt = parts.attempt;
    this.tx = parts.tx;
    this.#parts = parts;
    this.#value = parts.value;
  }

  /** The time of the publish. */
  get timestamp(): Date {
    return (this.#timestamp ??= new Date(this.#parts.record.timestamp));
  }

  /** The value: JSON, or what its schema makes of it. Throws for a value that is not JSON. */
  get value(): Value {
    this.#value ??= { value: decodeValue(this.bytes, this.headers[frameworkHeaders.contentType]) };
    return this.#value.value as Value;
  }

  /** True if the message has no value, as a null value of Kafka: its key is deleted. `value` is null then. */
  get isTombstone(): boolean {
    return isTombstone(this.#parts.record);
  }

  /** The value as it was received. */
  get bytes(): Uint8Array {
    return this.#parts.record.body;
  }

  /** The value as text. Bytes that are not UTF-8 become U+FFFD. */
  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** The value parsed as JSON, whatever its schema or type; throws if it is not JSON. */
  json<T = unknown>(): T {
    return parseJson(this.bytes) as T;
  }

  /** A logger that adds the topic, the id and the attempt to each line. */
  get log(): Logger {
    const { topic, id, attempt } = this;
    return (this.#log ??= this.#parts.logger.child({ topic, message_id: id, attempt }));
  }

  /** Aborted when the time of the handler is up, or when the message now belongs to another consumer. */
  get signal(): AbortSignal {
    return this.#parts.held.signal;
  }

  /** The message is handled, whatever comes after in the handler. */
  ack(): void {
    this.#decide({ kind: "ack" });
  }

  /** The attempt has failed, like an error: the message is handled again later, after `delay`. */
  nack(options?: NackOptions): void {
    const { reason, delay } = nackOptions.read([options]);
    this.#decide({ kind: "nack", reason, delayMs: inMs(delay) });
  }

  /** The message is to be handled again later, and this does not count as an attempt. */
  requeue(options?: RequeueOptions): void {
    this.#decide({ kind: "requeue", delayMs: inMs(requeueOptions.read([options]).delay) });
  }

  /** The message is dropped: it is not handled again and not kept. */
  reject(reason = "rejected by the handler"): void {
    this.#decide({ kind: "reject", reason });
  }

  /** The message becomes a dead letter at once. */
  deadLetter(reason = "dead-lettered by the handler"): void {
    this.#decide({ kind: "deadLetter", reason });
  }

  /** The message in a log line or in JSON: without headers and value, which may hold secrets. */
  toJSON(): { id: string; topic: string; key: string | null; attempt: number } {
    return { id: this.id, topic: this.topic, key: this.key, attempt: this.attempt };
  }

  [inspectSymbol](): string {
    return `Message { ${this.topic} ${this.id}, attempt: ${this.attempt} }`;
  }

  #decide(decision: Decision): void {
    this.#decision ??= decision;
  }
}

function inMs(delay: number | undefined): number | null {
  return delay === undefined ? null : delay * 1000;
}
