import type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  ConsumeRequest,
  DeliverySink,
  IncomingRecord,
  OutgoingRecord,
  PublishWay,
} from "../broker.js";
import type { MessagingError } from "../errors.js";
import { AmqpConsumer, type SendLater } from "./amqp-consumer.js";
import { AmqpReplies } from "./amqp-replies.js";
import { AmqpWay } from "./amqp-way.js";
import { type Amqplib, type AmqpMessage, loadAmqplib } from "./amqplib.js";
import { AmqpConfig, type AmqpOptions } from "./config.js";
import { AmqpLink, type PublishChannel } from "./link.js";
import { deadRecordOf, recordOf } from "./records.js";
import { rounded, Topology } from "./topology.js";

/** RabbitMQ, over AMQP 0-9-1. */
export class AmqpBroker implements Broker {
  readonly name = "amqp";
  readonly abilities: BrokerAbilities = {
    // The longest time to live of a message, with room for the expiry of its queue.
    delay: 2_000_000_000,
    broadcast: true,
    seek: false,
    maxBytes: 16 * 1024 * 1024,
  };
  readonly defaultGroup: string;
  readonly defaultPrefetch: number;
  readonly #config: AmqpConfig;
  readonly #link: AmqpLink;
  readonly #topology: Topology;
  readonly #ways = new WeakMap<PublishChannel, AmqpWay>();
  readonly #replyLink: AmqpLink;
  readonly replies: AmqpReplies;

  /** @internal */
  constructor(lib: Amqplib, config: AmqpConfig) {
    this.#config = config;
    this.defaultGroup = config.groupId;
    this.defaultPrefetch = config.prefetchCount;
    this.#link = new AmqpLink(lib, config);
    this.#replyLink = new AmqpLink(lib, config);
    this.#topology = new Topology(config);
    this.replies = new AmqpReplies(() => this.#wayOn(this.#replyLink));
  }

  async open(): Promise<void> {
    await this.#link.publishing();
  }

  async ping(): Promise<void> {
    await this.#link.onChannel(async () => {});
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const way = await this.#wayOn(this.#link);
    return Promise.all(records.map((record) => way.send(record)));
  }

  publishWay(): Promise<PublishWay> {
    return this.#wayOn(this.#link);
  }

  async #wayOn(link: AmqpLink): Promise<AmqpWay> {
    const publishing = await link.publishing();
    const known = this.#ways.get(publishing);
    if (known !== undefined) return known;
    const way = new AmqpWay({
      publishing,
      topology: this.#topology,
      mandatory: this.#config.mandatory,
      translate: (error) => link.translate(error),
      onChannel: (use) => link.onChannel(use),
      reply: (message) => this.replies.receive?.(recordOf(message)),
    });
    this.#ways.set(publishing, way);
    return way;
  }

  async consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    const consumer = new AmqpConsumer(this.#link, request, sink, this.#sendLater);
    await consumer.open(this.#topology);
    return consumer;
  }

  async browse(
    topic: string,
    limit: number,
    visit: (record: IncomingRecord) => Promise<"keep" | "remove">,
  ): Promise<void> {
    await this.#link.onChannel(async (channel) => {
      await this.#topology.declareDeadLetters(channel, topic);
      // Those that are kept go back when the channel is closed; until then `get` finds the ones after them.
      for (let seen = 0; seen < limit; seen++) {
        const message: AmqpMessage | false = await channel.get(topic);
        if (message === false) break;
        const verdict = await visit(deadRecordOf(message, topic.replace(/\.dead$/, "")));
        if (verdict === "remove") channel.ack(message);
      }
    });
  }

  async close(): Promise<void> {
    await this.replies.flush();
    await Promise.all([this.#link.close(), this.#replyLink.close()]);
  }

  readonly #sendLater: SendLater = async (queue, record, headers, delay) => {
    const publishing = await this.#link.publishing();
    const to = await this.#topology.retryQueueFor(publishing, queue, rounded(delay));
    const copy = { ...record, headers, topic: to, delay: 0, direct: true };
    const [failure] = await this.publish([copy]);
    if (failure) throw failure;
  };
}

/** Makes a broker that is not connected yet. */
export async function createAmqpBroker(config?: AmqpConfig | AmqpOptions | string | null): Promise<AmqpBroker> {
  return new AmqpBroker(await loadAmqplib(), AmqpConfig.from(config));
}
