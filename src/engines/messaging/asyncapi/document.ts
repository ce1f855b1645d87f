import { pascalCase } from "../../../batteries/openapi/operation-id.js";
import { isAnySchema, SchemaComponents } from "../../../batteries/openapi/schema-components.js";
import type { JsonSchema } from "../../../validation/json-schema.js";
import type { BrokerName } from "../broker.js";
import { codecOf } from "../codec.js";
import type { GivenConsumerOptions } from "../consume/options.js";
import { frameworkHeaders } from "../headers.js";
import type { ConsumerDefinition } from "../state.js";
import { asTopic, type ConsumedTopic, type ValueSchema } from "../topic.js";
import type { AsyncapiSettings } from "./options.js";
import type { AsyncApiChannel, AsyncApiDocument, AsyncApiOperation, AsyncApiReference } from "./types.js";

/** The AsyncAPI 3.0 document of an application: what it receives and what it publishes. */
export function asyncApiDocument(
  consumers: readonly ConsumerDefinition[],
  brokers: readonly BrokerName[],
  settings: AsyncapiSettings,
): AsyncApiDocument {
  const { title, version, description, servers, schemas } = settings;
  const components = new SchemaComponents(
    new Map(Object.entries(schemas).map(([name, schema]): [unknown, string] => [schema, name])),
  );
  const channels = new Channels(components, brokers, settings);
  const operations = new Operations(channels);
  for (const { topic, options, handler } of consumers) {
    if (options.hidden === true) continue;
    // A method of a class is bound to its instance.
    const name = handler.name.replace(/^bound /, "");
    operations.add("receive", topic, options.broker, options.schema ?? topic.schema, {
      ...texts({ summary: options.summary || name, description: options.description }),
      ...(options.group !== undefined && { "x-group": options.group }),
      ...(options.broadcast === true && { "x-broadcast": true }),
      ...deadLetterOf(topic, options),
    });
  }
  for (const topic of settings.publishes.map(asTopic)) operations.add("send", topic, undefined, topic.schema, {});
  const settled = components.settle({ channels: channels.all(), operations: operations.all() });
  const document: AsyncApiDocument = {
    asyncapi: "3.0.0",
    info: { title, version, ...texts({ description }) },
    defaultContentType: "application/json",
    ...(Object.keys(servers).length > 0 && {
      servers: Object.fromEntries(
        Object.entries(servers).map(([name, server]) => [name, { protocol: name, ...server }]),
      ),
    }),
    ...settled.document,
    ...(Object.keys(settled.schemas).length > 0 && { components: { schemas: settled.schemas } }),
  };
  return settings.transform?.(document) ?? document;
}

/** One channel for each topic of each broker, and one for the replies to it. */
class Channels {
  readonly #components: SchemaComponents;
  readonly #brokers: readonly BrokerName[];
  readonly #settings: AsyncapiSettings;
  readonly #ids = new Map<string, string>();
  readonly #channels: Record<string, AsyncApiChannel> = {};
  /** The messages of each channel, by their schemas. */
  readonly #messages = new Map<string, Map<ValueSchema | null, string>>();

  constructor(components: SchemaComponents, brokers: readonly BrokerName[], settings: AsyncapiSettings) {
    this.#components = components;
    this.#brokers = brokers;
    this.#settings = settings;
  }

  all(): Record<string, AsyncApiChannel> {
    return this.#channels;
  }

  /** The channel of a topic. */
  of(topic: ConsumedTopic, given: BrokerName | undefined): string {
    const broker = given ?? topic.broker ?? (this.#brokers.length === 1 ? this.#brokers[0]! : "");
    const id = this.#openTopic(topic, `${broker}/${topic.name}`);
    const channel = this.#channels[id]!;
    if (topic.description !== undefined) channel.description ??= topic.description;
    if (Object.hasOwn(this.#settings.servers, broker)) channel.servers = [{ $ref: `#/servers/${broker}` }];
    if (this.#brokers.length > 1 && broker !== "") channel["x-broker"] = broker;
    return id;
  }

  /** The channel of the replies to a channel. */
  replies(channel: string): string {
    return this.#open(`replies/${channel}`, `${channel}.reply`, null);
  }

  /** A message of a channel, as a reference. Values are sent as given, so their schema is that of the input. */
  message(channel: string, schema: ValueSchema | null): AsyncApiReference {
    const known = this.#messages.get(channel)!;
    let name = known.get(schema);
    if (name === undefined) {
      const { messages } = this.#channels[channel]!;
      const hint = pascalCase(channel) || "Message";
      const payload = isAnySchema(schema) ? this.#components.use(schema, "input", hint) : {};
      name = unused(nameIn(payload) ?? hint, messages);
      known.set(schema, name);
      const contentType = codecOf(schema) === null ? "application/json" : "application/octet-stream";
      messages[name] = { name, contentType, payload };
    }
    return { $ref: `#/channels/${channel}/messages/${name}` };
  }

  /** The topics of a pattern are known to the broker alone: their channel has no address. */
  #openTopic({ name, pattern }: ConsumedTopic, key: string): string {
    if (pattern === undefined) return this.#open(key, name, name);
    const id = this.#open(key, pattern.source.replaceAll(/[^\w-]+/g, "") || "topics", null);
    this.#channels[id]!["x-topic-pattern"] = pattern.source;
    return id;
  }

  #open(key: string, wanted: string, address: string | null): string {
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = unused(wanted, this.#channels);
      this.#ids.set(key, id);
      this.#channels[id] = { address, messages: {} };
      this.#messages.set(id, new Map());
    }
    return id;
  }
}

class Operations {
  readonly #operations: Record<string, AsyncApiOperation> = {};

  constructor(private readonly channels: Channels) {}

  all(): Record<string, AsyncApiOperation> {
    return this.#operations;
  }

  add(
    action: "send" | "receive",
    topic: ConsumedTopic,
    broker: BrokerName | undefined,
    schema: ValueSchema | null,
    more: Record<string, unknown>,
  ): void {
    const { channels } = this;
    const channel = channels.of(topic, broker);
    const messages = [channels.message(channel, schema)];
    const operation: AsyncApiOperation = { action, channel: { $ref: `#/channels/${channel}` }, messages, ...more };
    if (topic.reply !== null) {
      const replies = channels.replies(channel);
      operation["reply"] = {
        address: { location: `$message.header#/${frameworkHeaders.replyTo}` },
        channel: { $ref: `#/channels/${replies}` },
        messages: [channels.message(replies, topic.reply)],
      };
    }
    this.#operations[unused(action + pascalCase(channel), this.#operations)] = operation;
  }
}

/** The topic of dead letters. Each topic of a pattern has its own. */
function deadLetterOf({ name, pattern }: ConsumedTopic, { deadLetter, broadcast }: GivenConsumerOptions): object {
  if (deadLetter === false || broadcast === true || (pattern && deadLetter === undefined)) return {};
  return { "x-dead-letter": deadLetter ?? `${name}.dead` };
}

/** The name of the schema that a payload refers to, while its references are not settled. */
function nameIn({ $ref }: JsonSchema): string | undefined {
  return typeof $ref === "string" ? /^#\/components\/schemas\/([\w.-]+)/.exec($ref)?.[1] : undefined;
}

function unused(name: string, taken: object): string {
  let free = name;
  for (let n = 2; Object.hasOwn(taken, free); n++) free = `${name}_${n}`;
  return free;
}

/** The texts that were given. */
function texts<T extends Record<string, string | undefined>>(given: T): { [K in keyof T]: string } {
  return Object.fromEntries(Object.entries(given).filter(([, text]) => text)) as { [K in keyof T]: string };
}
