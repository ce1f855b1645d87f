import type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  BrowseVisitor,
  ConsumeRequest,
  DeliverySink,
  OutgoingRecord,
  PublishWay,
} from "../broker.js";
import { MessagingError } from "../errors.js";
import { Turns } from "../suspects.js";
import { type ConsumerShare, openConsumer, type SendLater } from "./amqp-consumer.js";
import { AmqpReplies } from "./amqp-replies.js";
import { AmqpWay } from "./amqp-way.js";
import { type Amqplib, type AmqpMessage, loadAmqplib } from "./amqplib.js";
import { AmqpConfig, type AmqpOptions } from "./config.js";
import { AmqpLink, type PublishChannel } from "./link.js";
import { deadRecordOf, recordOf } from "./records.js";
import { Topology } from "./topology.js";

/** RabbitMQ, over AMQP 0-9-1. */
export class AmqpBroker implements Broker {
  readonly name = "amqp";
  readonly abilities: BrokerAbilities = {
    maxDelayMs: 2_000_000_000,
    broadcast: true,
    seek: false,
    maxBytes: 16 * 1024 * 1024,
  };
  readonly defaultGroup: string;
  readonly defaultPrefetch: number;
  readonly boundsPrefetch: boolean;
  readonly #config: AmqpConfig;
  /** RabbitMQ that is short of memory or disk reads nothing from connections that publish: acknowledgements have another one. */
  readonly #publishing: AmqpLink;
  readonly #consuming: AmqpLink;
  readonly #topology: Topology;
  readonly #ways = new WeakMap<PublishChannel, AmqpWay>();
  readonly #replyLink: AmqpLink;
  readonly replies: AmqpReplies;
  readonly #share: ConsumerShare;

  /** @internal */
  constructor(lib: Amqplib, config: AmqpConfig, application?: string) {
    this.#config = config;
    this.defaultGroup = config.given.groupId ?? application ?? config.groupId;
    this.defaultPrefetch = config.prefetchCount;
    this.boundsPrefetch = config.given.prefetchCount !== undefined;
    this.#publishing = new AmqpLink(lib, config);
    this.#consuming = new AmqpLink(lib, config);
    this.#replyLink = new AmqpLink(lib, config);
    this.#topology = new Topology(config, this.defaultGroup);
    const [link, topology] = [this.#consuming, this.#topology];
    this.#share = { link, topology, sendLater: this.#sendLater, turns: new Turns() };
    this.replies = new AmqpReplies(() => this.#wayOn(this.#replyLink));
  }

  async open(): Promise<void> {
    await this.#publishing.publishing();
  }

  async ping(): Promise<void> {
    await this.#consuming.onChannel(async () => {});
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const way = await this.#wayOn(this.#publishing);
    return Promise.all(records.map((record) => way.send(record)));
  }

  publishWay(): Promise<PublishWay> {
    return this.#wayOn(this.#publishing);
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

  consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    return openConsumer(this.#share, request, sink);
  }

  async browse(topic: string, limit: number, visit: BrowseVisitor): Promise<void> {
    await this.#consuming.onChannel(async (channel) => {
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
    await Promise.all([this.#publishing, this.#consuming, this.#replyLink].map((link) => link.close()));
  }

  readonly #sendLater: SendLater = async (queue, record, headers, delayMs) => {
    if (this.#publishing.isBlocked) throw new MessagingError("BUSY", "RabbitMQ is short of memory or disk");
    const copy = { ...record, headers, topic: queue, delayMs, direct: true };
    const [failure] = await this.publish([copy]);
    if (failure) throw failure;
  };
}

/** Makes a broker that is not connected yet. The application's name is the group of consumers, unless one is given. */
export async function createAmqpBroker(
  config?: AmqpConfig | AmqpOptions | string | null,
  application?: string,
): Promise<AmqpBroker> {
  return new AmqpBroker(await loadAmqplib(), AmqpConfig.from([config]), application);
}
