import type { OutgoingRecord, PublishWay } from "../broker.js";
import { MessagingError } from "../errors.js";
import { frameworkHeaders } from "../headers.js";
import type { AmqpChannel, AmqpMessage } from "./amqplib.js";
import type { PublishChannel } from "./link.js";
import { PublishWriter } from "./publish-writer.js";
import { propertiesOf } from "./records.js";
import type { Topology } from "./topology.js";

/** The queue from which a channel gets the replies to its own requests. */
export const replyQueue = "amq.rabbitmq.reply-to";

export interface AmqpWayParts {
  readonly publishing: PublishChannel;
  readonly topology: Topology;
  readonly mandatory: boolean;
  translate(error: unknown): MessagingError;
  /** Runs something on a channel for this alone. */
  onChannel<T>(use: (channel: AmqpChannel) => Promise<T>): Promise<T>;
  /** Takes replies; null while this process makes no requests. */
  reply(message: AmqpMessage): void;
}

/** Bytes. */
const longestRoutingKey = 255;

type Ended = (error: MessagingError | null) => void;

/** Publishes on one channel, which keeps the order of everything sent on it. */
export class AmqpWay implements PublishWay {
  readonly #parts: AmqpWayParts;
  /** Records whose exchanges are being declared, and those after them, one after the other; null if there are none. */
  #tail: Promise<void> | null = null;
  readonly #writer: PublishWriter | null;

  constructor(parts: AmqpWayParts) {
    this.#parts = parts;
    this.#writer = PublishWriter.of(parts.publishing.channel);
  }

  publish(record: OutgoingRecord, ended: Ended): void {
    const exchange = this.#tail === null ? this.#known(record) : null;
    if (exchange !== null) this.#send(record, exchange, ended);
    else this.#declareFirst(record, ended);
  }

  /** The result of one record: null when the broker has it. */
  send(record: OutgoingRecord): Promise<MessagingError | null> {
    return new Promise((resolve) => this.publish(record, resolve));
  }

  /** Closes the channel: amqplib then ends all that was not confirmed. A broker that reads nothing does it later. */
  end(): void {
    // A channel that is closing throws.
    void Promise.resolve()
      .then(() => this.#parts.publishing.channel.close())
      .catch(() => {});
  }

  /** The exchange of a record, if everything that the record needs has been declared; else null. */
  #known(record: OutgoingRecord): string | null {
    const { topology, publishing } = this.#parts;
    if (!publishing.replies && isRequest(record)) return null;
    return topology.knownExchange(publishing, record);
  }

  /** Declares what the record needs, and sends it then. Those after it wait too: they would overtake. */
  #declareFirst(record: OutgoingRecord, ended: Ended): void {
    const turn = (this.#tail ?? Promise.resolve()).then(async () => {
      try {
        this.#send(record, this.#known(record) ?? (await this.#declare(record)), ended);
      } catch (error) {
        ended(this.#parts.translate(error));
      }
      if (this.#tail === turn) this.#tail = null;
    });
    this.#tail = turn;
  }

  async #declare(record: OutgoingRecord): Promise<string> {
    const { topology, publishing } = this.#parts;
    if (isRequest(record) && !publishing.replies) {
      await publishing.channel.consume(replyQueue, (message) => message && this.#parts.reply(message), { noAck: true });
      publishing.replies = true;
    }
    if (record.direct && record.delayMs === 0) return "";
    // A topic that the broker refuses ends the channel: not that of the publishes of other topics.
    return this.#parts.onChannel((channel) => topology.exchangeFor(channel, publishing, record));
  }

  #send(record: OutgoingRecord, exchange: string, ended: Ended): void {
    const { publishing, topology, mandatory, translate } = this.#parts;
    const { channel, returned } = publishing;
    const waits = record.delayMs > 0;
    const key = record.direct ? record.topic : this.#routingKey(record);
    // A message that waits is routed by its delay. The exchange of its topic gets its own key as a second one.
    const routingKey = waits ? topology.delays.routingKeyOf(record.delayMs) : key;
    const secondKey = waits && !record.direct && topology.routesByKey(record.topic) ? { CC: key } : null;
    const sent = waits ? topology.waiting(record) : record;
    // The broker delivers a direct reply and returns it all the same, since its place is no queue.
    const returns = mandatory && !(record.direct && routingKey.startsWith(replyQueue));
    const confirmed = (error: unknown) => {
      // A message that no queue receives is returned first, and confirmed then.
      const unroutable = returned.size > 0 && returned.delete(record.id);
      // Its queue may have been deleted: declared again with the next message.
      if (unroutable) {
        publishing.exchanges.delete(record.topic);
        if (waits) publishing.levels = 0;
      }
      ended(error ? translate(error) : unroutable ? unroutableError(exchange || routingKey) : null);
    };
    try {
      const publish = { record: sent, exchange, routingKey, mandatory: returns };
      if (secondKey === null && this.#writer?.publish(publish, confirmed)) return;
      this.#writer?.flush();
      const { body } = record;
      const content = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const options = { ...propertiesOf(sent), mandatory: returns, ...secondKey };
      channel.publish(exchange, routingKey, content, options, confirmed);
    } catch (error) {
      ended(isClosed(error) ? translate(error) : unfit(error));
    }
  }

  /** The key. Every queue of a fanout exchange gets the message whatever the key is: one that AMQP cannot hold is left out. */
  #routingKey({ topic, key }: OutgoingRecord): string {
    if (key === null) return "";
    const ignored = key.length * 3 > longestRoutingKey && this.#parts.topology.exchangeOf(topic).type === "fanout";
    return ignored && Buffer.byteLength(key) > longestRoutingKey ? "" : key;
  }
}

function isRequest({ headers }: OutgoingRecord): boolean {
  return headers[frameworkHeaders.replyTo] === replyQueue;
}

/** True if the channel ended before the message could be sent. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && error.name === "IllegalOperationError";
}

/** The error for a message that amqplib cannot write: no other try would help, and those after it must not wait. */
function unfit(error: unknown): MessagingError {
  const text = error instanceof Error ? error.message : String(error);
  return new MessagingError("TOO_LARGE", `AMQP cannot hold the message: ${text}`, { cause: error });
}

function unroutableError(exchange: string): MessagingError {
  return new MessagingError("UNKNOWN_TOPIC", `no queue takes messages of '${exchange}': start a consumer of it first`);
}
