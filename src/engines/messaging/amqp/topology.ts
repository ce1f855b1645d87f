import { ValueError } from "../../../kit/value-error.js";
import type { ConsumeRequest, OutgoingRecord } from "../broker.js";
import { type AmqpChannel, versionOf } from "./amqplib.js";
import type { AmqpConfig } from "./config.js";
import { Delays, destination, destinationHeader } from "./delays.js";
import type { PublishChannel } from "./link.js";

export interface ConsumerQueues {
  readonly queue: string;
  /** The queue of messages that may have killed a process; null for a broadcast. */
  readonly suspects: string | null;
  /** True if the queue delivers to one of its consumers at a time. */
  readonly isSingleActive: boolean;
}

/**
 * The objects of the broker that messages pass. A topic is an exchange. Each group has a queue, bound to it. Dead letters are a
 * topic whose messages a queue of the same name keeps.
 */
export class Topology {
  readonly #config: AmqpConfig;
  readonly delays: Delays;
  /** The topics of dead letters that were declared. */
  readonly #dead = new Set<string>();

  constructor(config: AmqpConfig, application: string) {
    this.#config = config;
    this.delays = new Delays(application);
  }

  exchangeOf(topic: string): { readonly name: string; readonly type: string } {
    const given = this.#config.topics[topic];
    return { name: given?.exchange ?? topic, type: given?.type ?? "fanout" };
  }

  queueOf(topic: string, group: string): string {
    const name = `${topic}.${group}`;
    // 255 bytes is the limit of AMQP.
    if (name.length > 230) throw new ValueError(`the names of topic and group are too long together: '${name}'`);
    return name;
  }

  async declareExchange(channel: AmqpChannel, topic: string): Promise<string> {
    // The queue may have been deleted: without it a message that failed would never end.
    if (this.#dead.has(topic)) {
      await this.declareDeadLetters(channel, topic);
      return topic;
    }
    const { name, type } = this.exchangeOf(topic);
    await channel.assertExchange(name, type, { durable: true });
    return name;
  }

  /** Declares everything that a consumer needs. */
  async declareConsumer(channel: AmqpChannel, request: ConsumeRequest): Promise<ConsumerQueues> {
    const { topic, group, broadcast, deadLetterTopic } = request;
    const { queueType, deliveryLimit } = this.#config;
    const exchange = await this.declareExchange(channel, topic);
    const queue = this.queueOf(topic, group);
    let suspects: string | null = null;
    const { singleActiveConsumer: isSingleActive = false, arguments: further } = this.#config.topics[topic] ?? {};
    // It ends with the connection, and not with its last consumer: a pause ends that.
    if (broadcast) await channel.assertQueue(queue, { exclusive: true, durable: false });
    else {
      if (deadLetterTopic !== null) await this.declareDeadLetters(channel, deadLetterTopic);
      const options = (type: string) => ({
        durable: true,
        arguments: {
          "x-queue-type": type,
          ...(type === "quorum" && { "x-delivery-limit": deliveryLimit }),
          ...(deadLetterTopic !== null && { "x-dead-letter-exchange": deadLetterTopic }),
        },
      });
      const { durable, arguments: usual } = options(queueType);
      const own = { ...further, ...usual, ...(isSingleActive && { "x-single-active-consumer": true }) };
      await channel.assertQueue(queue, { durable, arguments: own });
      await this.delays.bind(channel, "queue", queue);
      suspects = `${queue}:suspects`;
      // Only quorum queues count deliveries.
      await channel.assertQueue(suspects, options("quorum"));
    }
    for (const [pattern, args] of this.#bindingsOf(topic, group))
      await channel.bindQueue(queue, exchange, pattern, args);
    return { queue, suspects, isSingleActive };
  }

  async declareDeadLetters(channel: AmqpChannel, topic: string): Promise<void> {
    if (this.#dead.size > 10_000) this.#dead.clear();
    this.#dead.add(topic);
    await channel.assertExchange(topic, "fanout", { durable: true });
    const type = this.#config.deadLetterQueueType;
    // To look at dead letters delivers them, and quorum queues of RabbitMQ 4 drop what was delivered 20 times. Earlier ones have
    // no limit, and do not know this one.
    const isLimited = type === "quorum" && Number.parseInt(versionOf(channel), 10) >= 4;
    const args = { "x-queue-type": type, ...(isLimited && { "x-delivery-limit": -1 }) };
    await channel.assertQueue(topic, { durable: true, arguments: args });
    await channel.bindQueue(topic, topic, "");
  }

  /** The exchange for a record, if everything that it needs has been declared; else null. */
  knownExchange({ exchanges, delayed, levels }: PublishChannel, record: OutgoingRecord): string | null {
    const { topic, delayMs, direct } = record;
    const name = direct ? "" : exchanges.get(topic);
    if (delayMs === 0 || name === undefined) return name ?? null;
    const isDeclared = levels >= this.delays.levelsOf(delayMs) && (direct || delayed.has(name));
    return isDeclared ? this.delays.exchangeOf(delayMs) : null;
  }

  /** Declares what a record needs; returns its exchange. */
  async exchangeFor(channel: AmqpChannel, publishing: PublishChannel, record: OutgoingRecord): Promise<string> {
    const { exchanges, delayed } = publishing;
    const { topic, delayMs, direct } = record;
    let name = direct ? "" : exchanges.get(topic);
    if (name === undefined) {
      name = await this.declareExchange(channel, topic);
      if (exchanges.size > 10_000) exchanges.clear();
      exchanges.set(topic, name);
    }
    if (delayMs === 0) return name;
    const count = this.delays.levelsOf(delayMs);
    if (publishing.levels < count) {
      await this.delays.declare(channel, count);
      publishing.levels = count;
    }
    // A queue was bound when its consumer was opened.
    if (!direct) {
      await this.delays.bind(channel, "exchange", name);
      if (delayed.size > 10_000) delayed.clear();
      delayed.add(name);
    }
    return this.delays.exchangeOf(delayMs);
  }

  /** The record with the place to which it goes after its delay. */
  waiting(record: OutgoingRecord): OutgoingRecord {
    const { topic, direct, headers } = record;
    const to = direct ? destination("queue", topic) : destination("exchange", this.exchangeOf(topic).name);
    return { ...record, headers: { ...headers, [destinationHeader]: to } };
  }

  /** True if the key of a message decides on the queues that get it. */
  routesByKey(topic: string): boolean {
    const { type } = this.exchangeOf(topic);
    return type === "direct" || type === "topic";
  }

  #bindingsOf(topic: string, group: string): (readonly [pattern: string, args: object])[] {
    const { type } = this.exchangeOf(topic);
    const given = this.#config.topics[topic]?.bindings?.[group];
    if (type === "headers") return [["", { "x-match": "all", ...(given as object | undefined) }]];
    if (Array.isArray(given)) return (given as readonly string[]).map((pattern) => [pattern, {}] as const);
    if (type !== "direct") return [[type === "topic" ? "#" : "", {}]];
    throw new ValueError(
      `the topic '${topic}' has a direct exchange: name the routing keys of '${group}' in 'bindings'`,
    );
  }
}
