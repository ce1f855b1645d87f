import { checkedOptions } from "../../kit/config.js";
import { type Check, is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import {
  type BodyOutput,
  type BodyValidator,
  isBodyValidator,
  type OutputOf,
} from "../../validation/body-validator.js";
import { isStandardSchema, type SchemaInput, type StandardSchema } from "../../validation/standard-schema.js";
import { type BrokerName, isBrokerName } from "./broker.js";
import { codecOf } from "./codec.js";

/** A schema of values: of zod, valibot, arktype and the like, or a model. */
export type ValueSchema = StandardSchema | BodyValidator;

declare const types: unique symbol;

/** A topic with the type of its values, for publishers and consumers. Made by `topic()`. */
export interface Topic<In = unknown, Out = In, Reply = unknown> {
  readonly name: string;
  /** Null if values are not checked. */
  readonly schema: ValueSchema | null;
  /** The key of a value; null if publishers give it. */
  readonly key: ((value: In) => string | null) | null;
  /** Null for the only broker of the application. */
  readonly broker: BrokerName | null;
  /** The schema of replies; null if they are not checked. */
  readonly reply: ValueSchema | null;
  /** For the documentation. */
  readonly description?: string | undefined;
  readonly [types]?: { readonly in: (value: In) => void; readonly out: Out; readonly reply: Reply };
}

export interface TopicOptions<In> {
  /** Schema or model of the values. Checked when a message is published and when it is received. */
  readonly schema?: ValueSchema;
  /** The key of a value: messages of one key are handled in order. */
  readonly key?: (value: In) => string | null;
  /** The broker, in an application that has several. */
  readonly broker?: BrokerName;
  /** Schema or model of the replies to requests. */
  readonly reply?: ValueSchema;
  /** What the messages are for, in the AsyncAPI document. */
  readonly description?: string;
}

/** The type of the values that a schema accepts. */
export type InputOf<S> = S extends StandardSchema ? SchemaInput<S> : BodyOutput<S>;

const schemaOption: Check = (value) =>
  isSchema(value) ? undefined : "a schema (zod, valibot, arktype ...) or a model";

const readOptions = checkedOptions<TopicOptions<never>>({
  schema: schemaOption,
  reply: (value) =>
    codecOf(value) === null ? schemaOption(value) : "a schema whose values are JSON: replies have no codec",
  key: is.function,
  broker: isBrokerName,
  description: is.string,
});

/**
 * Declares a topic once, for publishers and consumers: `const orders = topic("orders", { schema: Order, key:
 * (order) => order.id })`. Without a schema the type is given: `topic<Order>("orders")`. A topic of requests has the schema
 * or the type of their replies too: `topic("prices", { schema: Ask, reply: Price })`, `topic<Ask, Price>("prices")`.
 */
export function topic<const S extends ValueSchema, const R extends ValueSchema = never>(
  name: string,
  options: Omit<TopicOptions<InputOf<S>>, "schema" | "reply"> & { readonly schema: S; readonly reply?: R },
): Topic<InputOf<S>, OutputOf<S>, [R] extends [never] ? unknown : OutputOf<R>>;
export function topic<Value = unknown, Reply = unknown>(
  name: string,
  options?: Omit<TopicOptions<Value>, "schema" | "reply">,
): Topic<Value, Value, Reply>;
export function topic(name: string, options?: object): Topic {
  checkTopicName(name);
  const { schema, key, broker, reply, description } = readOptions(`topic '${name}'`, options);
  return Object.freeze({
    name,
    schema: schema ?? null,
    key: (key as Topic["key"] | undefined) ?? null,
    broker: broker ?? null,
    reply: reply ?? null,
    description,
  });
}

/** The names that all brokers can have. */
const namePattern = /^[A-Za-z0-9._-]{1,200}$/;

export function isTopicName(name: unknown): name is string {
  return typeof name === "string" && namePattern.test(name);
}

export function checkTopicName(name: unknown): asserts name is string {
  if (isTopicName(name)) return;
  throw new ValueError(`a topic's name has 1 to 200 letters, digits, '.', '_' and '-', not ${show(name)}`);
}

/** A topic that was given as itself or by its name. */
export function asTopic(given: Topic<never, unknown> | string): Topic {
  if (typeof given !== "string") {
    checkTopicName((given as { name?: unknown } | null)?.name);
    return given as unknown as Topic;
  }
  checkTopicName(given);
  return { name: given, schema: null, key: null, broker: null, reply: null };
}

/** The topic of a consumer. With a pattern it stands for all topics that match. */
export interface ConsumedTopic extends Topic {
  readonly pattern?: RegExp;
}

/** The topic of a consumer that was given as itself, by its name, or by a pattern of names. */
export function asConsumed(given: Topic<never, unknown> | string | RegExp): ConsumedTopic {
  if (!(given instanceof RegExp)) return asTopic(given);
  // With these flags each test would begin where the last one ended.
  const pattern = new RegExp(given.source, given.flags.replaceAll(/[gy]/g, ""));
  return { name: String(pattern), schema: null, key: null, broker: null, reply: null, pattern };
}

function isSchema(value: unknown): boolean {
  return isStandardSchema(value) || isBodyValidator(value);
}
