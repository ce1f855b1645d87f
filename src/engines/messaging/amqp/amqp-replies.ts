import { within } from "../../../kit/time/within.js";
import type { BrokerReplies, IncomingRecord, OutgoingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { type AmqpWay, replyQueue } from "./amqp-way.js";

const mostPending = 10_000;
/** Milliseconds that the end waits for replies that are not confirmed. */
const lastReplies = 1000;

/**
 * RabbitMQ's direct reply-to: the broker puts the place of the channel in the header of the request. Replies have a
 * separate connection, since RabbitMQ ends the connection that sends to a place of this kind that is not well formed.
 */
export class AmqpReplies implements BrokerReplies {
  readonly address = replyQueue;
  receive: ((record: IncomingRecord) => void) | null = null;
  readonly #way: () => Promise<AmqpWay>;
  readonly #pending = new Set<Promise<unknown>>();

  constructor(way: () => Promise<AmqpWay>) {
    this.#way = way;
  }

  async send(record: OutgoingRecord): Promise<void> {
    if (this.#pending.size >= mostPending) throw new MessagingError("BUSY", `${mostPending} replies wait already`);
    const sending = this.#way().then((way) => way.send(record));
    this.#pending.add(sending);
    try {
      const failure = await sending;
      if (failure !== null) throw failure;
    } finally {
      this.#pending.delete(sending);
    }
  }

  /** Waits a while for the replies that are under way. */
  async flush(): Promise<void> {
    if (this.#pending.size === 0) return;
    await within(Promise.allSettled(this.#pending), lastReplies);
  }
}
