import { MessagingError } from "../errors.js";
import { Parked } from "../parked.js";
import type { AmqpChannel, AmqpMessage, Credit } from "./amqplib.js";
import { keyOf } from "./records.js";
import type { Unsettled } from "./unsettled.js";

/** The consumer for which a queue is read. */
export interface QueueReaderOwner {
  readonly channel: AmqpChannel;
  readonly prefetch: number;
  readonly unsettled: Unsettled;
  /** True if messages are to come. */
  readonly isTaking: boolean;
  receive(message: AmqpMessage): void;
  fail(error: unknown): void;
}

/**
 * Reads a queue through a consumer of the broker. When messages that wait for their next attempt take up half of its prefetch,
 * another consumer takes its place: it has a prefetch to itself, and what the first has received stays with the channel.
 */
export class QueueReader {
  readonly #queue: string;
  readonly #owner: QueueReaderOwner;
  readonly #isRenewed: boolean;
  readonly #parked = new Parked<AmqpMessage>({
    keyOf,
    bytesOf: ({ content }) => content.length,
    open: () => this.#owner.unsettled.open,
    counted: ({ credit }, by) => {
      if (credit !== undefined) credit.parked += by;
    },
  });
  #tag: Promise<string> | null = null;
  #credit: Credit = { parked: 0 };
  #renewing = false;

  /** `isRenewed` is false where the place of the only active consumer would go to another process. */
  constructor(queue: string, owner: QueueReaderOwner, isRenewed: boolean) {
    this.#queue = queue;
    this.#owner = owner;
    this.#isRenewed = isRenewed;
  }

  /** Begins to read, unless it does already. */
  async begin(): Promise<void> {
    if (this.#tag !== null) return;
    const credit = { parked: 0 };
    this.#credit = credit;
    const receive = (message: AmqpMessage | null) => {
      // Null: the broker has ended the consumer, as when its queue is deleted.
      if (message === null)
        return this.#owner.fail(new MessagingError("UNKNOWN_TOPIC", `the queue '${this.#queue}' is gone`));
      message.credit = credit;
      this.#parked.add(message);
      this.#openRoom();
      this.#owner.receive(message);
    };
    this.#tag = this.#owner.channel.consume(this.#queue, receive).then(({ consumerTag }) => consumerTag);
    await this.#tag;
  }

  async end(): Promise<void> {
    const tag = this.#tag;
    this.#tag = null;
    if (tag === null) return;
    try {
      await this.#owner.channel.cancel(await tag);
    } catch {
      // The channel is gone, and the consumer with it.
    }
  }

  /** The message waits for its next attempt. */
  wait(message: AmqpMessage): void {
    this.#parked.wait(message);
    this.#openRoom();
  }

  /** The message has its result. */
  settled(message: AmqpMessage): void {
    this.#parked.settled(message);
    this.#openRoom();
  }

  /** All messages are lost. */
  clear(): void {
    this.#parked.clear();
  }

  #openRoom(): void {
    const { prefetch, isTaking } = this.#owner;
    if (this.#credit.parked * 2 < prefetch || !this.#parked.hasRoom || this.#renewing) return;
    if (this.#tag === null || !isTaking || !this.#isRenewed) return;
    this.#renewing = true;
    this.#renew().then(
      () => {
        this.#renewing = false;
        this.#openRoom();
      },
      (error: unknown) => this.#owner.fail(error),
    );
  }

  /** One after the other: a quorum queue could mix the order of two. */
  async #renew(): Promise<void> {
    await this.end();
    if (this.#owner.isTaking) await this.begin();
  }
}
