import type { AmqpChannel, AmqpMessage } from "./amqplib.js";

/** Milliseconds that an acknowledgement waits for others. */
const wait = 1;
/** This part of the deliveries that a consumer may have is acknowledged at once: the broker sends others in their place. */
const share = 1 / 4;

/**
 * The deliveries of one channel that have no result yet. Acknowledgements are gathered for a millisecond, or up to a quarter of
 * the prefetch: as far as no delivery before them is open, one frame acknowledges them all. Otherwise each message
 * has its own frame, and often a call to the system.
 */
export class Unsettled {
  readonly #channel: AmqpChannel;
  /** As many do not wait. */
  readonly #many: number;
  #timer: NodeJS.Timeout | null = null;
  /** In the order of their delivery, which is that of their tags. */
  readonly #open = new Set<AmqpMessage>();
  #acked: AmqpMessage[] = [];

  constructor(channel: AmqpChannel, prefetch: number) {
    this.#channel = channel;
    this.#many = Math.max(1, Math.floor(prefetch * share));
  }

  get open(): ReadonlySet<AmqpMessage> {
    return this.#open;
  }

  get size(): number {
    return this.#open.size;
  }

  add(message: AmqpMessage): void {
    this.#open.add(message);
  }

  /** Acknowledges a delivery, soon. False if it has a result already. */
  ack(message: AmqpMessage): boolean {
    if (!this.#open.delete(message)) return false;
    const count = this.#acked.push(message);
    // At the end of this turn: others may join.
    if (count === this.#many) process.nextTick(() => this.#flush());
    else if (count === 1) this.#timer ??= setTimeout(() => this.#flush(), wait);
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
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
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
