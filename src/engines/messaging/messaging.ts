import type { Logger } from "../../kit/logger.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { closest, didYouMean } from "../../kit/suggest.js";
import type { Tracer } from "../../kit/tracer.js";
import { ValueError } from "../../kit/value-error.js";
import type { Broker, BrokerName, OutgoingRecord } from "./broker.js";
import { codecOf } from "./codec.js";
import { Consumer, type ConsumerParts, type Subscription } from "./consume/consumer.js";
import { type AnyMessageHandler, batchRun, type HandlerHome, handlerRun } from "./consume/handler.js";
import type { WorkResult } from "./consume/in-flight-message.js";
import type { Inbox } from "./consume/inbox.js";
import {
  type ConsumerOptions,
  type ConsumerSettings,
  consumerSettings,
  type GivenConsumerOptions,
  type MessageHandler,
  prefetchWarning,
  readConsumerOptions,
} from "./consume/options.js";
import type { AttemptResult } from "./consume/outcome.js";
import { PatternSubscription, topicsLike } from "./consume/pattern.js";
import type { ProcessedStore } from "./consume/processed.js";
import { DeadLetters } from "./dead-letters.js";
import { MessagingError } from "./errors.js";
import {
  type BatchEntry,
  outgoing,
  type Published,
  type PublishedValue,
  type PublishOptions,
} from "./publish/outgoing.js";
import { type Entry, type PublishTarget, publishAll, publishOne, readEntries } from "./publish/publish.js";
import { Publisher } from "./publish/publisher.js";
import { refuseTooLarge } from "./publish/size.js";
import type { PublisherLimits } from "./publish/waiting.js";
import { type ReplyValue, type RequestOptions, Requests } from "./requests.js";
import { asConsumed, asTopic, type ConsumedTopic, type Topic } from "./topic.js";
import { publishSpan } from "./trace.js";
import {
  MessageTransaction,
  type MessageTransactionOptions,
  recordsOf,
  transactional,
  transactionOptions,
} from "./transaction.js";

/** A message for a handler, in a test. */
export interface DeliverOptions extends Omit<PublishOptions, "delay"> {
  /** The number of the attempt. Default 1. */
  readonly attempt?: number;
  /** The group of the consumer, where the topic has several. */
  readonly group?: string;
}

/** Counts the work of messaging. */
export interface MessagingMeter {
  published(topic: string, error: MessagingError | null): void;
  attempted(topic: string, group: string, seconds: number, ok: boolean): void;
  ended(topic: string, group: string, result: WorkResult): void;
}

export interface MessagingParts {
  readonly logger: Logger;
  /** The application; null for a program without one. */
  readonly home: HandlerHome | null;
  /** The store of message ids for consumers that name none. */
  readonly processed: () => ProcessedStore;
  /** The inbox, for consumers that want one. It throws where there is no database. */
  readonly inbox?: () => Inbox;
  readonly limits?: PublisherLimits;
}

/** A consumer as it was asked for. */
interface GivenConsumer extends Pick<ConsumerParts, "run" | "handler"> {
  readonly options: GivenConsumerOptions;
  readonly target: Connected;
  readonly isPaused?: boolean;
}

interface Connected extends PublishTarget {
  readonly requests: Requests;
}

/** Names of topics that are remembered: those that requests make up have no bound. */
const maxNames = 1000;

/** Publishes and consumes messages, on one broker or several. */
export class Messaging {
  /** Messages that could not be handled. */
  readonly deadLetters: DeadLetters;
  /** @internal */
  meter: MessagingMeter | null = null;
  /** @internal */
  tracer: Tracer | null = null;
  readonly #parts: MessagingParts;
  readonly #brokers = new Map<BrokerName, Connected>();
  /** The only broker; null if there are none or several. */
  #only: Connected | null = null;
  readonly #consumers = new Set<Consumer>();
  readonly #patterns = new Set<PatternSubscription>();
  /** Topics of dead letters that consumers have named. */
  readonly #deadTopics = new Set<string>();
  /** Names this process among all that use the broker. */
  readonly #processId = nodeCrypto().randomUUID();
  /** Names of topics that were looked at. */
  readonly #published = new Set<string>();
  #subscribed = 0;
  #draining = false;

  /** @internal */
  constructor(parts: MessagingParts) {
    this.#parts = parts;
    this.deadLetters = new DeadLetters((topic) => this.#brokerOf(topic.broker, topic.name));
  }

  /** Publishes a message. Resolves when the broker has it. */
  publish<const T extends Topic<never, unknown> | string>(
    topic: T,
    value: PublishedValue<T>,
    options?: PublishOptions,
  ): Promise<Published> {
    // Not async: that would be a second promise for each message.
    try {
      const declared = this.#asTopic(topic);
      return publishOne(this.#brokerOf(declared.broker, declared.name), declared, { value, options }, null, this);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Publishes messages together, in this order. Rejects if one of them does not fit its topic, before any is sent, or with
   * the first error of the broker; the others may have been published all the same.
   */
  publishBatch<const T extends Topic<never, unknown> | string>(
    topic: T,
    entries: readonly BatchEntry<PublishedValue<T>>[],
  ): Promise<Published[]> {
    return this.#publishAll(this.#asTopic(topic), readEntries(entries));
  }

  /**
   * Publishes a message and waits for the value that its handler returns. Rejects with TIMEOUT if no reply comes in time, and
   * with REFUSED if the handler fails after its last attempt.
   */
  async request<const T extends Topic<never, unknown> | string>(
    topic: T,
    value: PublishedValue<T>,
    options?: RequestOptions,
  ): Promise<ReplyValue<T>> {
    const declared = this.#asTopic(topic);
    const { requests } = this.#brokerOf(declared.broker, declared.name);
    return (await requests.request(declared, value, options)) as ReplyValue<T>;
  }

  /**
   * Publishes all messages that the function gives to `tx.publish`, when it returns, or none if it throws. On Kafka and the
   * memory broker. In a handler, the option `transactional` makes its messages part of the transaction.
   */
  async transaction<Result>(
    work: (tx: MessageTransaction) => Result | Promise<Result>,
    options?: MessageTransactionOptions,
  ): Promise<Result> {
    const { broker } = this.#brokerOf(transactionOptions.read([options]).broker ?? null, "of a transaction");
    const transact = transactional(broker);
    const tx = new MessageTransaction(broker);
    const result = await work(tx);
    const records = recordsOf(tx);
    if (records.length > 0) await transact(records, []);
    for (const { topic } of records) this.meter?.published(topic, null);
    return result;
  }

  /** @internal The warning of a consumer that is to start; false if there is none. */
  review(topic: Topic, options: GivenConsumerOptions): string | false {
    return prefetchWarning(topic, options, this.#brokerOf(options.broker ?? topic.broker, topic.name).broker);
  }

  /** @internal The names of the topics of a consumer. Those of a pattern are looked for. */
  async topicsOf({ name, pattern }: ConsumedTopic, { broker }: GivenConsumerOptions): Promise<readonly string[]> {
    return pattern === undefined ? [name] : topicsLike(pattern, this.#brokerOf(broker ?? null, name).broker);
  }

  /** Starts a consumer. `app.onMessage` does the same when the application starts. */
  async subscribe<const T extends Topic<never, unknown> | string | RegExp, const O extends ConsumerOptions>(
    topic: T,
    options: O,
    handler: MessageHandler<T, O>,
  ): Promise<Subscription> {
    const declared = asConsumed(topic);
    const owner = `the consumer of '${declared.name}'`;
    const read = readConsumerOptions(owner, options);
    if (this.#draining) throw new MessagingError("CLOSED", "the application ends: no further consumers");
    if (typeof read.deadLetter === "string") this.#deadTopics.add(read.deadLetter);
    const target = this.#brokerOf(read.broker ?? declared.broker, declared.name);
    const { batch, transactional, guards, inject, group } = this.#settingsOf(declared, read, target);
    const single = batch === null && !transactional;
    const make = single ? handlerRun : batchRun;
    const run = make(handler as unknown as AnyMessageHandler, { batch, guards, inject }, owner, this.#parts.home);
    const given = { options: read, target, run, handler: handler.name === "" ? "anonymous" : handler.name };
    const { pattern } = declared;
    if (pattern === undefined) return this.#start(declared, given);
    const subscription = new PatternSubscription({
      pattern,
      group,
      broker: target.broker,
      logger: this.#parts.logger,
      isDeadLetters: (name) => this.#deadTopics.has(name),
      start: (name, { isNew, isPaused }) => {
        const options = isNew ? { ...read, from: "start" as const } : read;
        return this.#start({ ...declared, name }, { ...given, options, isPaused });
      },
      onClosed: (closed) => this.#patterns.delete(closed),
    });
    this.#patterns.add(subscription);
    await subscription.open();
    return subscription;
  }

  /** Starts the consumer of one topic. */
  async #start(topic: ConsumedTopic, given: GivenConsumer): Promise<Consumer> {
    const { name } = topic;
    const { options, target, run, handler, isPaused = false } = given;
    const settings = this.#settingsOf(topic, options, target);
    const codec = codecOf(settings.schema);
    if (codec !== null) await codec.open(name);
    const inbox = settings.inbox ? this.#inboxFor(`the consumer of '${name}'`) : null;
    if (inbox !== null) await inbox.open();
    const { logger, processed } = this.#parts;
    const consumer = new Consumer({
      topic: name,
      broker: target.broker,
      publisher: target.publisher,
      settings,
      run,
      handler,
      isFound: topic.pattern !== undefined,
      store: settings.idempotent === null ? null : (settings.idempotent.store ?? processed()),
      inbox,
      logger,
      tracer: () => this.tracer,
      attempted: (start, ok) => this.meter?.attempted(name, settings.group, (performance.now() - start) / 1000, ok),
      onResult: (result) => this.meter?.ended(name, settings.group, result),
      onClosed: (closed) => this.#consumers.delete(closed),
    });
    if (isPaused) consumer.pause();
    if (this.#draining) throw new MessagingError("CLOSED", "the application ends: no further consumers");
    this.#consumers.add(consumer);
    try {
      await consumer.open();
    } catch (error) {
      this.#consumers.delete(consumer);
      throw error;
    }
    return consumer;
  }

  #settingsOf(topic: Topic, options: GivenConsumerOptions, { broker }: Connected): ConsumerSettings {
    const settings = consumerSettings(topic, options, broker, `${this.#processId}-${++this.#subscribed}`);
    if (settings.broadcast && !broker.abilities.broadcast) {
      throw new MessagingError("UNSUPPORTED", `the ${broker.name} broker cannot broadcast`);
    }
    if (settings.transactional) transactional(broker);
    return settings;
  }

  /** A topic that is given by its name may be misspelt: no consumer would ever see its messages. */
  #asTopic(topic: Topic<never, unknown> | string): Topic {
    const known = this.#published;
    if (typeof topic === "string" && this.#consumers.size > 0 && known.size < maxNames && !known.has(topic)) {
      known.add(topic);
      const consumed = [...this.#consumers].map((consumer) => consumer.topic);
      const isConsumed = consumed.includes(topic) || this.#patternsOf(topic).length > 0;
      const near = isConsumed ? undefined : closest(topic, consumed, 1);
      if (near !== undefined) {
        this.#parts.logger.warn(
          `nothing here consumes the topic '${topic}' that is published; did you mean '${near}'?`,
        );
      }
    }
    return asTopic(topic);
  }

  /** The consumers that run. */
  get consumers(): readonly Subscription[] {
    return [...this.#consumers];
  }

  /** Messages that the brokers have not confirmed yet. */
  get waiting(): number {
    let sum = 0;
    for (const { publisher } of this.#brokers.values()) sum += publisher.waiting;
    return sum;
  }

  /** @internal Has the consumer of a topic handle a message once, without a broker: for tests. */
  async handleOnce(topic: Topic, value: unknown, options: DeliverOptions): Promise<AttemptResult> {
    const { attempt = 1, group, ...rest } = options;
    for (const pattern of this.#patternsOf(topic.name)) await pattern.join(topic.name);
    const fitting = [...this.#consumers].filter(
      (consumer) => consumer.topic === topic.name && (group === undefined || consumer.group === group),
    );
    if (fitting.length !== 1) {
      const found = fitting.length === 0 ? "no consumer" : "several consumers: name the group";
      throw new ValueError(`the topic '${topic.name}' has ${found}`);
    }
    const consumer = fitting[0]!;
    // The value may be wrong on purpose: a consumer must stand what others publish. A codec can only write what is right.
    const schema = codecOf(consumer.schema) === null ? null : consumer.schema;
    return consumer.handleOnce(await outgoing({ ...topic, schema }, value, rest, null), attempt);
  }

  /**
   * @internal The record of a message for the outbox, and its broker. The value is checked now, the record carries the
   * trace of the caller.
   */
  async recordOf(topic: Topic, value: unknown, options: unknown): Promise<{ broker: Broker; record: OutgoingRecord }> {
    const { broker } = this.#brokerOf(topic.broker, topic.name);
    const span = publishSpan(this.tracer, broker.name, topic.name, 1);
    try {
      const record = await outgoing(topic, value, options, span);
      span?.set("messaging.message.id", record.id);
      refuseTooLarge(record, broker);
      span?.end();
      return { broker, record };
    } catch (error) {
      span?.end(error);
      throw error;
    }
  }

  /** @internal Sends records of the outbox, in this order. They are not held back if the broker cannot be reached. */
  async forward(name: BrokerName, records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const { broker } = this.#brokerOf(name, records[0]!.topic);
    const outcomes = await broker.publish(records, { ordered: true });
    for (const [index, record] of records.entries()) this.meter?.published(record.topic, outcomes[index] ?? null);
    return outcomes;
  }

  /** @internal The names of the brokers. */
  get brokers(): readonly BrokerName[] {
    return [...this.#brokers.keys()];
  }

  /** @internal */
  add(broker: Broker): void {
    const { limits } = this.#parts;
    const requests = new Requests({
      broker,
      publish: async (topic, value, options, headers) =>
        publishOne(this.#brokerOf(topic.broker, topic.name), topic, { value, options }, headers, this),
      listen: async (topic, receive) => {
        const options = { broker: broker.name, broadcast: true, retry: false, concurrency: 100 } as const;
        await this.subscribe(topic, options, (message) =>
          receive({ ...message, body: message.bytes, timestamp: message.timestamp.getTime() }),
        );
      },
    });
    const { name } = broker;
    if (this.#brokers.has(name)) throw new ValueError(`the client has a broker of the name ${name} already`);
    const connected = { broker, publisher: new Publisher(broker, limits), requests };
    this.#brokers.set(name, connected);
    this.#only = this.#brokers.size === 1 ? connected : null;
  }

  /** @internal The process takes no further messages, and finishes those under way. */
  async drain(timeoutMs = 20_000): Promise<void> {
    this.#draining = true;
    for (const { requests } of this.#brokers.values()) requests.close();
    for (const pattern of this.#patterns) pattern.end();
    await Promise.all([...this.#consumers].map((consumer) => consumer.drain(timeoutMs)));
  }

  /** @internal Sends what waits and takes nothing more. */
  async flush(broker: Broker): Promise<void> {
    await this.#brokers.get(broker.name)?.publisher.close();
  }

  /** Finishes the messages under way, leaves the groups and closes the brokers. */
  async close(): Promise<void> {
    await this.drain();
    for (const { broker, publisher } of this.#brokers.values()) {
      await publisher.close();
      await broker.close();
    }
  }

  #patternsOf(topic: string): PatternSubscription[] {
    return [...this.#patterns].filter((pattern) => pattern.matches(topic));
  }

  /** The broker of a topic; throws if there is none, or if the topic has to name one. */
  #brokerOf(name: BrokerName | null, topic: string): Connected {
    const found = name === null ? this.#only : this.#brokers.get(name);
    if (found) return found;
    const { brokers } = this;
    if (name !== null) {
      const near = didYouMean(name, brokers);
      throw new ValueError(`the topic '${topic}' belongs to ${name}, which is not enabled${near}`);
    }
    const why = brokers.length === 0 ? "no broker is enabled" : `say which of ${brokers.join(", ")} it belongs to`;
    throw new ValueError(`the topic '${topic}' has no broker: ${why}`);
  }

  async #publishAll(topic: Topic, entries: readonly Entry[]): Promise<Published[]> {
    return publishAll(this.#brokerOf(topic.broker, topic.name), topic, entries, this);
  }

  #inboxFor(owner: string): Inbox {
    if (this.#parts.inbox === undefined) throw new ValueError(`${owner} has an inbox, which needs an application`);
    return this.#parts.inbox();
  }
}
