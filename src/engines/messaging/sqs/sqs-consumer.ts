import { within } from "../../../kit/time/within.js";
import type { BrokerConsumer, ConsumeRequest, Delivery, DeliverySink, IncomingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { Parked } from "../parked.js";
import { longestAlone, suspectAfter, type Turns } from "../suspects.js";
import type { SqsMessage } from "./library.js";
import { earlierOf, recordOf } from "./records.js";
import type { SqsService } from "./service.js";

/** Sends a copy of a record to the topic of the consumer after a delay. */
export type SendCopy = (
  topic: string,
  record: IncomingRecord,
  headers: Readonly<Record<string, string>>,
  delayMs: number,
) => Promise<void>;

interface Held {
  readonly message: SqsMessage;
  readonly delivery: Delivery;
  /** The time on the monotonic clock until which no other consumer can see the message. */
  until: number;
}

interface Deletion {
  readonly held: Held;
  resolve(): void;
  reject(error: unknown): void;
}

const batch = 10;
/**
 * Messages that are asked for one by one at the begin, and after a suspect. The queue counts all messages of a reply, and not only
 * those whose handlers ran: the neighbours of a message that kills its process would become dead letters with it.
 */
const caution = 10;
/** Milliseconds between requests that do not wait for messages. */
const shortPause = 100;

/** Asks the queue for messages as long as there is room, and keeps those that are handled hidden from others. */
export class SqsConsumer implements BrokerConsumer {
  readonly #service: SqsService;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #sendCopy: SendCopy;
  readonly #held = new Map<string, Held>();
  readonly #parked = new Parked<Held>({
    keyOf: ({ delivery }) => delivery.record.key,
    bytesOf: ({ delivery }) => delivery.record.body.length,
    open: () => this.#held.values(),
  });
  readonly #cut = new AbortController();
  readonly #hidden: number;
  readonly #turns: Turns;
  /** Messages that are still to be asked for one by one. */
  #careful = caution;
  /** Ends when no suspect is handled alone. */
  #alone: Promise<void> = Promise.resolve();
  #url = "";
  #paused = false;
  #stopped = false;
  #ended = false;
  /** Those that wait for a change. */
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #deletions: Deletion[] = [];
  #polling: Promise<void> = Promise.resolve();

  constructor(service: SqsService, request: ConsumeRequest, sink: DeliverySink, sendCopy: SendCopy, turns: Turns) {
    this.#service = service;
    this.#request = request;
    this.#sink = sink;
    this.#sendCopy = sendCopy;
    this.#turns = turns;
    this.#hidden = service.config.visibilityTimeout * 1000;
  }

  async open(): Promise<void> {
    const { topic, deadLetterTopic } = this.#request;
    this.#url = await this.#service.urlOf(topic);
    if (deadLetterTopic !== null) await this.#service.urlOf(deadLetterTopic);
    // A queue that refuses to be read is an error of the opening, after which the pauses grow.
    await this.#ask(0);
    this.#timer = setInterval(() => void this.#extend(), this.#hidden / 3);
    this.#polling = this.#poll();
  }

  pause(): void {
    this.#paused = true;
    this.#wake();
  }

  resume(): void {
    this.#paused = false;
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
  }

  async close(): Promise<void> {
    await this.stop();
    // A request that is cut off continues in the service, takes messages, and keeps them hidden: it must come to its end.
    const late = setTimeout(() => this.#cut.abort(), (this.#service.config.waitTime + 2) * 1000);
    await this.#polling;
    clearTimeout(late);
    this.#ended = true;
    clearInterval(this.#timer);
    const left = [...this.#held.values()];
    this.#held.clear();
    this.#parked.clear();
    await this.#setVisibility(left, 0).catch(() => {});
  }

  async lag(): Promise<number | null> {
    const names = ["", "NotVisible", "Delayed"].map((kind) => `ApproximateNumberOfMessages${kind}`);
    const { Attributes = {} } = await this.#service.call("GetQueueAttributes", {
      QueueUrl: this.#url,
      AttributeNames: names,
    });
    return names.reduce((sum, name) => sum + (Number(Attributes[name]) || 0), 0);
  }

  async #poll(): Promise<void> {
    const { waitTime } = this.#service.config;
    for (;;) {
      await this.#alone;
      if (this.#stopped || this.#ended) return;
      if (this.#paused || this.#room <= 0) {
        await this.#change();
        continue;
      }
      try {
        const received = await this.#ask(waitTime);
        if (waitTime === 0 && received === 0) await new Promise((resolve) => setTimeout(resolve, shortPause));
      } catch (error) {
        if (!this.#stopped) this.#fail(error);
        return;
      }
    }
  }

  get #room(): number {
    return this.#request.prefetch - (this.#held.size - this.#parked.size);
  }

  /** Asks the queue for as many messages as there is room for. Resolves to their number. */
  async #ask(waitTime: number): Promise<number> {
    const asked = performance.now();
    const most = this.#careful > 0 ? 1 : Math.min(batch, this.#room);
    const { Messages = [] } = await this.#service.call(
      "ReceiveMessage",
      {
        QueueUrl: this.#url,
        MaxNumberOfMessages: most,
        WaitTimeSeconds: waitTime,
        VisibilityTimeout: this.#service.config.visibilityTimeout,
        MessageAttributeNames: ["All"],
        MessageSystemAttributeNames: ["All"],
      },
      this.#cut.signal,
    );
    const until = asked + this.#hidden;
    const suspects = Messages.filter((message) => earlierOf(message) >= suspectAfter);
    // Between the pause, or the end, and the reply everything is given back.
    let back: readonly SqsMessage[] = this.#paused || this.#stopped ? Messages : [];
    if (back.length === 0 && suspects.length > 0) {
      this.#careful = caution;
      // One that came with others comes again, alone. A FIFO queue has to keep the order of those behind it.
      if (most > 1) back = this.#service.isFifo(this.#request.topic) ? Messages : suspects;
      else this.#alone = this.#handleAlone(this.#hold(suspects[0]!, until));
    }
    if (back.length > 0)
      this.#setVisibility(
        back.map((message) => ({ message })),
        0,
      ).catch(() => {});
    for (const message of Messages) {
      if (suspects.includes(message) || back.includes(message)) continue;
      this.#careful = Math.max(this.#careful - 1, 0);
      this.#sink.deliver(this.#hold(message, until).delivery);
    }
    return Messages.length;
  }

  /** Handles a message that may have killed its process when no other handler of the consumer runs. */
  #handleAlone(held: Held): Promise<void> {
    const isHeld = () => this.#held.has(held.message.ReceiptHandle);
    return this.#turns.run(async () => {
      await this.#until(() => this.#held.size <= 1 || !isHeld());
      if (!isHeld()) return;
      if (this.#paused || this.#stopped || this.#ended) {
        this.#forget(held);
        this.#setVisibility([held], 0).catch(() => {});
        return;
      }
      this.#sink.deliver(held.delivery);
      await this.#until(() => !isHeld());
    });
  }

  /** Waits for a change of what is held, or for the end. With a limit: a handler may take long. */
  async #until(changed: () => boolean): Promise<void> {
    const wait = async (): Promise<void> => {
      while (!changed() && !this.#paused && !this.#stopped && !this.#ended) await this.#change();
    };
    await within(wait(), longestAlone);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #hold(message: SqsMessage, until: number): Held {
    const record = recordOf(message);
    const { topic } = this.#request;
    const take = (): Held => {
      const held = this.#held.get(message.ReceiptHandle);
      // After that time others may have the message, though the queue would still take the receipt.
      if (held === undefined || this.#ended || performance.now() > held.until) {
        throw new MessagingError("LOST", "the message is now visible to other consumers");
      }
      return held;
    };
    const settled = (): void => {
      this.#forget(held);
      this.#wake();
    };
    const ack = async (): Promise<void> => {
      const held = take();
      await new Promise<void>((resolve, reject) => {
        if (this.#deletions.push({ held, resolve, reject }) === 1) setImmediate(() => void this.#delete());
      });
      settled();
    };
    const delivery: Delivery = {
      record,
      earlier: earlierOf(message),
      identity: message.MessageId,
      ack,
      release: async () => {
        const held = take();
        settled();
        await this.#setVisibility([held], 0);
      },
      wait: () => {
        if (!this.#held.has(message.ReceiptHandle)) return;
        this.#parked.wait(held);
        this.#wake();
      },
      // FIFO queues delay all messages or none: there the consumer waits itself.
      ...(!this.#service.isFifo(topic) && {
        retry: async (headers: Readonly<Record<string, string>>, delayMs: number) => {
          take();
          await this.#sendCopy(topic, record, headers, delayMs);
          await ack();
        },
      }),
    };
    const held: Held = { message, delivery, until };
    this.#held.set(message.ReceiptHandle, held);
    this.#parked.add(held);
    return held;
  }

  #forget(held: Held): void {
    this.#held.delete(held.message.ReceiptHandle);
    this.#parked.settled(held);
  }

  /** Deletes everything that was settled in one turn of the event loop, ten at a time. */
  async #delete(): Promise<void> {
    const all = this.#deletions;
    this.#deletions = [];
    for (let at = 0; at < all.length; at += batch) {
      const part = all.slice(at, at + batch);
      try {
        const Entries = part.map(({ held }, index) => ({
          Id: String(index),
          ReceiptHandle: held.message.ReceiptHandle,
        }));
        const { Failed = [] } = await this.#service.call("DeleteMessageBatch", { QueueUrl: this.#url, Entries });
        const failures = new Map(Failed.map((failure) => [Number(failure.Id), failure]));
        part.forEach(({ resolve, reject }, index) => {
          const failure = failures.get(index);
          if (failure === undefined) resolve();
          else reject(new MessagingError("LOST", failure.Message ?? failure.Code ?? "the message was not deleted"));
        });
      } catch (error) {
        for (const { reject } of part) reject(error);
      }
    }
  }

  /** Keeps the messages hidden. One that cannot be kept belongs to others. */
  async #extend(): Promise<void> {
    const asked = performance.now();
    const late = [...this.#held.values()].filter(({ until }) => until < asked);
    for (const held of late) this.#lose(held);
    const all = [...this.#held.values()];
    try {
      const failed = await this.#setVisibility(all, this.#service.config.visibilityTimeout);
      for (const held of all) {
        if (failed.has(held)) this.#lose(held);
        else held.until = asked + this.#hidden;
      }
    } catch {
      // The next turn tries again; what is not extended in time is lost.
    }
  }

  async #setVisibility<Item extends Pick<Held, "message">>(all: readonly Item[], seconds: number): Promise<Set<Item>> {
    const failed = new Set<Item>();
    for (let at = 0; at < all.length; at += batch) {
      const part = all.slice(at, at + batch);
      const Entries = part.map(({ message }, index) => ({
        Id: String(index),
        ReceiptHandle: message.ReceiptHandle,
        VisibilityTimeout: seconds,
      }));
      const call = { QueueUrl: this.#url, Entries };
      const { Failed = [] } = await this.#service.call("ChangeMessageVisibilityBatch", call);
      for (const { Id } of Failed) failed.add(part[Number(Id)]!);
    }
    return failed;
  }

  #lose(held: Held): void {
    this.#forget(held);
    this.#sink.lost(held.delivery);
    this.#wake();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#sink.failed(error);
  }
}
