import { MessagingError } from "../errors.js";
import { Parked } from "../parked.js";
import type { AmqpChannel, AmqpMessage, Credit } from "./amqplib.js";
import { keyOf } from "./records.js";
import type { Unsettled } from "./unsettled.js";

/** Consumers of the broker that were ended, and are known for messages that come late. */
const mostEnded = 8;

/** A consumer of the broker. */
interface Reading {
  readonly tag: Promise<string>;
  readonly receive: (message: AmqpMessage | null) => void;
}

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
  #reading: Reading | null = null;
  readonly #ended: string[] = [];
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
    if (this.#reading !== null) return;
    const credit = { parked: 0 };
    this.#credit = credit;
    const receive = (message: AmqpMessage | null) => {
      // Null: the broker has ended the consumer, as when its queue is deleted.
      if (message === null)
        return this.#owner.fail(new MessagingError("UNKNOWN_TOPIC", `the queue '${this.#queue}' no longer exists`));
      message.credit = credit;
      this.#parked.add(message);
      this.#openRoom();
      this.#owner.receive(message);
    };
    const tag = this.#owner.channel.consume(this.#queue, receive).then(({ consumerTag }) => consumerTag);
    this.#reading = { tag, receive };
    await tag;
  }

  async end(): Promise<void> {
    const reading = this.#reading;
    this.#reading = null;
    if (reading === null) return;
    try {
      const tag = await reading.tag;
      await this.#owner.channel.cancel(tag);
      this.#expectLate(tag, reading);
    } catch {
      // The channel was closed, and the consumer with it.
    }
  }

  /** A quorum queue can send a message after the broker has confirmed the end: it belongs to the channel, as all before. */
  #expectLate(tag: string, { receive }: Reading): void {
    const { channel } = this.#owner;
    channel.registerConsumer?.(tag, receive);
    if (this.#ended.push(tag) > mostEnded) channel.unregisterConsumer?.(this.#ended.shift()!);
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
    if (this.#reading === null || !isTaking || !this.#isRenewed) return;
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
