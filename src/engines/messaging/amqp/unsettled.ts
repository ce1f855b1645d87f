import type { AmqpChannel, AmqpMessage } from "./amqplib.js";

/**
 * The deliveries of one channel that have no result yet. Acknowledgements of one turn of the event loop are gathered: as far as
 * no delivery before them is open, one frame acknowledges them all. Each frame costs the client and the broker as much as half of a
 * small message.
 */
export class Unsettled {
  readonly #channel: AmqpChannel;
  /** In the order of their delivery, which is that of their tags. */
  readonly #open = new Set<AmqpMessage>();
  #acked: AmqpMessage[] = [];

  constructor(channel: AmqpChannel) {
    this.#channel = channel;
  }

  get size(): number {
    return this.#open.size;
  }

  add(message: AmqpMessage): void {
    this.#open.add(message);
  }

  /** Acknowledges a delivery at the end of this turn. False if it has a result already. */
  ack(message: AmqpMessage): boolean {
    if (!this.#open.delete(message)) return false;
    if (this.#acked.push(message) === 1) process.nextTick(() => this.#flush());
    return true;
  }

  /** Gives a delivery back to its queue. False if it has a result already. */
  release(message: AmqpMessage): boolean {
    if (!this.#open.delete(message)) return false;
    this.#channel.nack(message, false, true);
    return true;
  }

  /** Sends the acknowledgements that wait, and forgets the rest: the channel ends, and the broker delivers it again. */
  end(): void {
    this.#flush();
    this.#open.clear();
  }

  #flush(): void {
    try {
      this.#send();
    } catch {
      // The channel is closed, which its consumer is told. The broker delivers the messages again.
    }
  }

  #send(): void {
    const acked = this.#acked;
    if (acked.length === 0) return;
    this.#acked = [];
    const [first] = this.#open;
    const before = first?.fields.deliveryTag ?? Number.POSITIVE_INFINITY;
    let last: AmqpMessage | null = null;
    for (const message of acked) {
      const { deliveryTag } = message.fields;
      if (deliveryTag >= before) this.#channel.ack(message);
      else if (last === null || deliveryTag > last.fields.deliveryTag) last = message;
    }
    if (last !== null) this.#channel.ack(last, true);
  }
}
