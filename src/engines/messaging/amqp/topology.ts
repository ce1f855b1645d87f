import { ValueError } from "../../../internal/value-error.js";
import type { ConsumeRequest } from "../broker.js";
import type { AmqpChannel } from "./amqplib.js";
import type { AmqpConfig } from "./config.js";
import type { PublishChannel } from "./link.js";

/** Milliseconds after which a delay queue is declared again. It expires if it is not declared for much longer. */
const declareAgain = 30_000;

/**
 * The objects of the broker that messages pass. A topic is an exchange. Each group has a queue of its own, bound to it. Dead
 * letters are a topic whose messages a queue of the same name keeps. A delay is a queue without consumers whose messages
 * expire, all after the same time, into the exchange or the queue they belong to: with a time for each message, a short one
 * would wait behind a long one.
 */
export class Topology {
  readonly #config: AmqpConfig;
  /** The topics of dead letters that were declared. */
  readonly #dead = new Set<string>();

  constructor(config: AmqpConfig) {
    this.#config = config;
  }

  exchangeOf(topic: string): { readonly name: string; readonly type: string } {
    const given = this.#config.topics[topic];
    return { name: given?.exchange ?? topic, type: given?.type ?? "fanout" };
  }

  queueOf(topic: string, group: string): string {
    const name = `${topic}.${group}`;
    // 255 bytes is the limit of AMQP; the queues for delays have longer names.
    if (name.length > 230) throw new ValueError(`the names of topic and group are too long together: '${name}'`);
    return name;
  }

  async declareExchange(channel: AmqpChannel, topic: string): Promise<string> {
    // Somebody may have deleted the queue: without it a message that failed would never end.
    if (this.#dead.has(topic)) {
      await this.declareDeadLetters(channel, topic);
      return topic;
    }
    const { name, type } = this.exchangeOf(topic);
    await channel.assertExchange(name, type, { durable: true });
    return name;
  }

  /** Declares everything that a consumer needs; returns its queue. */
  async declareConsumer(channel: AmqpChannel, request: ConsumeRequest): Promise<string> {
    const { topic, group, broadcast, deadLetterTopic } = request;
    const { queueType, deliveryLimit } = this.#config;
    const exchange = await this.declareExchange(channel, topic);
    const queue = this.queueOf(topic, group);
    if (broadcast) await channel.assertQueue(queue, { exclusive: true, autoDelete: true, durable: false });
    else {
      const quorum = queueType === "quorum";
      if (deadLetterTopic !== null) await this.declareDeadLetters(channel, deadLetterTopic);
      const args = {
        "x-queue-type": queueType,
        ...(quorum && { "x-delivery-limit": deliveryLimit }),
        ...(deadLetterTopic !== null && { "x-dead-letter-exchange": deadLetterTopic }),
      };
      await channel.assertQueue(queue, { durable: true, arguments: args });
    }
    for (const [pattern, args] of this.#bindingsOf(topic, group))
      await channel.bindQueue(queue, exchange, pattern, args);
    return queue;
  }

  async declareDeadLetters(channel: AmqpChannel, topic: string): Promise<void> {
    if (this.#dead.size > 10_000) this.#dead.clear();
    this.#dead.add(topic);
    await channel.assertExchange(topic, "fanout", { durable: true });
    // A classic queue: to look at dead letters delivers them, and a quorum queue drops what was delivered too often.
    await channel.assertQueue(topic, { durable: true, arguments: { "x-queue-type": "classic" } });
    await channel.bindQueue(topic, topic, "");
  }

  /** The exchange for a publish with this delay, if it has been declared; else null. */
  knownExchange({ declared, exchanges }: PublishChannel, topic: string, delay: number): string | null {
    if (delay === 0) return exchanges.get(topic) ?? null;
    const delayed = `${topic}.delay.${delay}`;
    return isFresh(declared, delayed) ? delayed : null;
  }

  /** The exchange for a publish with this delay. */
  async exchangeFor(
    channel: AmqpChannel,
    { declared, exchanges }: PublishChannel,
    topic: string,
    delay: number,
  ): Promise<string> {
    let name = exchanges.get(topic);
    if (name === undefined) {
      name = await this.declareExchange(channel, topic);
      if (exchanges.size > 10_000) exchanges.clear();
      exchanges.set(topic, name);
    }
    if (delay === 0) return name;
    const delayed = `${topic}.delay.${delay}`;
    if (!isFresh(declared, delayed)) {
      await channel.assertExchange(delayed, "fanout", { durable: true, autoDelete: true });
      await channel.assertQueue(delayed, delayQueue(delay, { "x-dead-letter-exchange": name }));
      await channel.bindQueue(delayed, delayed, "");
      declared.set(delayed, performance.now());
    }
    return delayed;
  }

  /** The queue whose messages go to another queue after the delay. */
  async retryQueueFor({ channel, declared }: PublishChannel, queue: string, delay: number): Promise<string> {
    if (delay === 0) return queue;
    const name = `${queue}.retry.${delay}`;
    if (!isFresh(declared, name)) {
      const to = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue };
      await channel.assertQueue(name, delayQueue(delay, to));
      declared.set(name, performance.now());
    }
    return name;
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

/** Delays of attempts differ at random: rounded up to few values, so that there are few queues. */
export function rounded(delay: number): number {
  if (delay <= 10) return delay <= 0 ? 0 : 10;
  const power = 10 ** Math.floor(Math.log10(delay));
  const step = [1, 1.5, 2, 3, 5, 7, 10].find((factor) => factor * power >= delay) ?? 10;
  return Math.round(step * power);
}

/** Unused queues vanish. `expires` is so long that no message in the queue can vanish with it. */
function delayQueue(delay: number, to: object): object {
  const args = { "x-message-ttl": delay, "x-expires": delay * 2 + 2 * declareAgain, "x-queue-type": "classic", ...to };
  return { durable: true, arguments: args };
}

function isFresh(declared: Map<string, number>, name: string): boolean {
  const at = declared.get(name);
  if (at !== undefined && performance.now() - at < declareAgain) return true;
  if (declared.size > 1000) declared.clear();
  return false;
}
