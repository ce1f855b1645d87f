import type { BrokerConsumer, ConsumeRequest, Delivery, DeliverySink } from "../broker.js";
import { MessagingError } from "../errors.js";
import { AmqpDelivery, type DeliveryOwner } from "./amqp-delivery.js";
import type { AmqpChannel, AmqpMessage } from "./amqplib.js";
import { type AmqpLink, closed } from "./link.js";
import type { Topology } from "./topology.js";
import { Unsettled } from "./unsettled.js";

/** Sends a copy of a record to a queue after a delay, with other headers. */
export type SendLater = (
  queue: string,
  record: Delivery["record"],
  headers: Readonly<Record<string, string>>,
  delay: number,
) => Promise<void>;

/** A consumer on a channel of its own. The end of the channel is the end of the consumer. */
export class AmqpConsumer implements BrokerConsumer, DeliveryOwner {
  readonly #link: AmqpLink;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #sendLater: SendLater;
  /** Null while there is no channel. */
  #unsettled: Unsettled | null = null;
  #channel: AmqpChannel | null = null;
  #queue = "";
  #tag: Promise<string> | null = null;
  #paused = false;
  #ended = false;

  constructor(link: AmqpLink, request: ConsumeRequest, sink: DeliverySink, sendLater: SendLater) {
    this.#link = link;
    this.#request = request;
    this.#sink = sink;
    this.#sendLater = sendLater;
  }

  async open(topology: Topology): Promise<void> {
    let reported: ((error: unknown) => void) | null = null;
    const channel = await this.#link.channel((error) => {
      this.#channel = null;
      this.#forget();
      reported?.(error);
    });
    this.#channel = channel;
    this.#unsettled = new Unsettled(channel, this.#request.prefetch);
    try {
      await channel.prefetch(this.#request.prefetch);
      this.#queue = await topology.declareConsumer(channel, this.#request);
      // From here on the loss of the channel is the consumer's failure; before, it is the error of `open`.
      reported = (error) => this.#fail(error);
      await this.#consume(channel);
    } catch (error) {
      reported = null;
      this.#ended = true;
      await closed(channel);
      throw this.#link.translate(error);
    }
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    void this.#cancel();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    const channel = this.#channel;
    if (channel !== null && !this.#ended) this.#consume(channel).catch((error: unknown) => this.#fail(error));
  }

  async stop(): Promise<void> {
    await this.#cancel();
  }

  async close(): Promise<void> {
    this.#ended = true;
    const channel = this.#channel;
    this.#channel = null;
    this.#forget();
    // Waits for the broker: everything that was settled before is settled there too.
    if (channel !== null) await closed(channel);
  }

  async lag(): Promise<number | null> {
    if (this.#ended) return null;
    const { messageCount } = await this.#link.onChannel((channel) => channel.checkQueue(this.#queue));
    return messageCount + (this.#unsettled?.size ?? 0);
  }

  async #consume(channel: AmqpChannel): Promise<void> {
    const receive = (message: AmqpMessage | null) => {
      // Null: the broker has ended the consumer, as when its queue is deleted.
      if (message === null)
        return this.#fail(new MessagingError("UNKNOWN_TOPIC", `the queue '${this.#queue}' is gone`));
      // Comes between the pause and the broker's notice of it.
      if (this.#paused) return channel.nack(message, false, true);
      this.#unsettled?.add(message);
      this.#sink.deliver(new AmqpDelivery(message, this));
    };
    this.#tag = channel.consume(this.#queue, receive).then(({ consumerTag }) => consumerTag);
    await this.#tag;
  }

  async #cancel(): Promise<void> {
    const tag = this.#tag;
    const channel = this.#channel;
    this.#tag = null;
    if (tag === null || channel === null) return;
    try {
      await channel.cancel(await tag);
    } catch {
      // The channel is gone, and the consumer with it.
    }
  }

  ack({ message }: AmqpDelivery): void {
    if (!this.#unsettled?.ack(message)) throw lost();
  }

  release({ message }: AmqpDelivery): void {
    try {
      if (this.#unsettled?.release(message)) return;
    } catch (error) {
      throw lost(error);
    }
    throw lost();
  }

  async retry(delivery: AmqpDelivery, headers: Readonly<Record<string, string>>, delay: number): Promise<void> {
    if (this.#unsettled === null) throw lost();
    // First the copy, then the end of the original: between the two there are both.
    await this.#sendLater(this.#queue, delivery.record, headers, delay);
    this.ack(delivery);
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#forget();
    this.#sink.failed(error);
  }

  /** The deliveries are with the broker again, or soon: none of them can be settled here any more. */
  #forget(): void {
    this.#unsettled?.end();
    this.#unsettled = null;
  }
}

function lost(cause?: unknown): MessagingError {
  return new MessagingError("LOST", "the channel of the delivery is closed", cause === undefined ? {} : { cause });
}
