import { parseJson } from "../../http/json/json.js";
import { refusePromises } from "../../http/json/to-json.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { bodyValidatorSymbol, isBodyValidator } from "../../validation/body-validator.js";
import { type Issue, toIssues } from "../../validation/issues.js";
import type { IncomingRecord } from "./broker.js";
import { codecOf } from "./codec.js";
import { MessagingError } from "./errors.js";
import { frameworkHeaders, isTombstone, noValue } from "./headers.js";
import type { ValueSchema } from "./topic.js";

export interface EncodedValue {
  readonly body: Uint8Array;
  readonly contentType: string;
}

/** A value as bytes: JSON, or bytes as they are. */
export function encodeValue(value: unknown): EncodedValue {
  if (value instanceof Uint8Array) return { body: value, contentType: "application/octet-stream" };
  refusePromises(value);
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new ValueError(`a message needs a value that JSON can hold, not ${show(value)}`);
  return { body: Buffer.from(text), contentType: "application/json" };
}

const noBytes = new Uint8Array(0);

/** A message without a value, which deletes its key. */
export function tombstone(value: unknown): EncodedValue {
  if (value !== null) throw new ValueError(`a tombstone has the value null, not ${show(value)}`);
  return { body: noBytes, contentType: noValue };
}

/** A value from its bytes. Everything that does not say that it is something else is JSON. */
export function decodeValue(body: Uint8Array, contentType: string | undefined): unknown {
  if (contentType === "application/octet-stream") return body;
  if (contentType === noValue && body.length === 0) return null;
  if (contentType?.startsWith("text/")) return new TextDecoder().decode(body);
  try {
    return parseJson(body);
  } catch (error) {
    throw new UndecodableError(error);
  }
}

/** A received value that is not JSON, or not what its schema says. Another attempt cannot cure it. */
export class UndecodableError extends MessagingError {
  constructor(cause: unknown, reason = "the value is not JSON") {
    super("INVALID", reason, { cause });
  }
}

/** A value that does not fit the schema of its topic. The issues never hold the value. */
export class InvalidValueError extends MessagingError {
  readonly issues: readonly Issue[];

  constructor(topic: string, issues: readonly Issue[]) {
    const [first] = issues;
    const more = issues.length > 1 ? ` and ${issues.length - 1} more` : "";
    const reason = first === undefined ? "" : `: ${first.loc.join(".")}: ${first.msg}${more}`;
    super("INVALID", `the value does not fit the schema of '${topic}'${reason}`);
    this.issues = issues;
  }
}

/** Checks a value that is about to be published. It is sent as given: consumers apply the schema's changes. */
export async function checkOutgoing(
  topic: string,
  schema: ValueSchema,
  value: unknown,
  body: Uint8Array,
): Promise<void> {
  await checkIncoming(topic, schema, value, body);
}

/** The value of a received message, decoded and as its schema produces it. */
export async function readValue(
  topic: string,
  schema: ValueSchema,
  record: Pick<IncomingRecord, "headers" | "body">,
): Promise<unknown> {
  const { headers, body } = record;
  const codec = codecOf(schema);
  // A tombstone is no value of any format.
  if (codec !== null) return isTombstone(record) ? null : codec.decode(topic, body);
  return checkIncoming(topic, schema, decodeValue(body, headers[frameworkHeaders.contentType]), body);
}

/** The value of a received message as its schema produces it. */
export async function checkIncoming(
  topic: string,
  schema: ValueSchema,
  value: unknown,
  body: Uint8Array,
): Promise<unknown> {
  if (isBodyValidator(schema)) {
    const result = await schema[bodyValidatorSymbol](body);
    if (result.issues) throw new InvalidValueError(topic, result.issues);
    return result.value;
  }
  const result = await schema["~standard"].validate(value);
  if (result.issues) throw new InvalidValueError(topic, toIssues("value", result.issues, value));
  return result.value;
}
