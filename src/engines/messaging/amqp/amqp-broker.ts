import type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  ConsumeRequest,
  DeliverySink,
  IncomingRecord,
  OutgoingRecord,
} from "../broker.js";
import { MessagingError } from "../errors.js";
import { AmqpConsumer, type SendLater } from "./amqp-consumer.js";
import { type Amqplib, type AmqpMessage, loadAmqplib } from "./amqplib.js";
import { AmqpConfig, type AmqpOptions } from "./config.js";
import { AmqpLink, type PublishChannel } from "./link.js";
import { deadRecordOf, propertiesOf } from "./records.js";
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

  /** @internal */
  constructor(lib: Amqplib, config: AmqpConfig) {
    this.#config = config;
    this.defaultGroup = config.groupId;
    this.defaultPrefetch = config.prefetchCount;
    this.#link = new AmqpLink(lib, config);
    this.#topology = new Topology(config);
  }

  async open(): Promise<void> {
    await this.#link.publishing();
  }

  async ping(): Promise<void> {
    await this.#link.onChannel(async () => {});
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const publishing = await this.#link.publishing();
    const prepared = [];
    for (const record of records) {
      // Delays of users are exact to the second above ten: each value is a queue.
      const delay = record.delay > 10_000 ? Math.ceil(record.delay / 1000) * 1000 : record.delay;
      try {
        prepared.push({ record, exchange: await this.#topology.exchangeFor(publishing, record.topic, delay) });
      } catch (error) {
        throw this.#link.translate(error);
      }
    }
    return Promise.all(
      prepared.map(({ record, exchange }) => this.#send(publishing, exchange, record.key ?? "", record)),
    );
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
    await this.#link.close();
  }

  readonly #sendLater: SendLater = async (queue, record, headers, delay) => {
    const publishing = await this.#link.publishing();
    const to = await this.#topology.retryQueueFor(publishing, queue, rounded(delay));
    const failure = await this.#send(publishing, "", to, { ...record, headers });
    if (failure !== null) throw failure;
  };

  /** Resolves when the broker has confirmed or refused the message, or the channel is gone. */
  #send(
    { channel, returned }: PublishChannel,
    exchange: string,
    routingKey: string,
    record: Omit<OutgoingRecord, "topic" | "delay">,
  ): Promise<MessagingError | null> {
    const { body, id } = record;
    const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return new Promise((resolve) => {
      const confirmed = (error: unknown) => {
        // A message that no queue receives is returned first, and confirmed then.
        const unroutable = returned.delete(id);
        if (error) resolve(this.#link.translate(error));
        else if (unroutable) resolve(unroutableError(exchange));
        else resolve(null);
      };
      try {
        const options = { ...propertiesOf(record), mandatory: this.#config.mandatory };
        channel.publish(exchange, routingKey, content, options, confirmed);
      } catch (error) {
        resolve(this.#link.translate(error));
      }
    });
  }
}

/** Makes a broker that is not connected yet. */
export async function createAmqpBroker(config?: AmqpConfig | AmqpOptions | string | null): Promise<AmqpBroker> {
  return new AmqpBroker(await loadAmqplib(), AmqpConfig.from(config));
}

function unroutableError(exchange: string): MessagingError {
  return new MessagingError("UNKNOWN_TOPIC", `no queue takes messages of '${exchange}': start a consumer of it first`);
}
