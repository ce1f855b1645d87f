import { within } from "../../../kit/time/within.js";
import type { BrokerConsumer, ConsumeRequest, Delivery, DeliverySink, IncomingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { Parked } from "../parked.js";
import { longestAlone, type Turns } from "../suspects.js";
import type { AmqpChannel, AmqpMessage, Credit } from "./amqplib.js";
import { type AmqpLink, closed } from "./link.js";
import { earlierOf, identityOf, isSuspect, keyOf, recordOf } from "./records.js";
import type { Topology } from "./topology.js";
import { Unsettled } from "./unsettled.js";

/** Sends a copy of a record to a queue after a delay, with other headers. */
export type SendLater = (
  queue: string,
  record: IncomingRecord,
  headers: Readonly<Record<string, string>>,
  delay: number,
) => Promise<void>;

/** The parts of the broker that its consumers share. */
export interface ConsumerShare {
  readonly sendLater: SendLater;
  readonly turns: Turns;
}

/** A message of a queue. */
class AmqpDelivery implements Delivery {
  readonly record: IncomingRecord;
  readonly unreadable: MessagingError | undefined;
  readonly retry?: (headers: Readonly<Record<string, string>>, delay: number) => Promise<void>;

  constructor(
    readonly message: AmqpMessage,
    readonly owner: AmqpConsumer,
    readonly earlier: number,
  ) {
    this.record = recordOf(message);
    this.unreadable = message.properties.unreadable;
    if (owner.isLasting) this.retry = retry;
  }

  get identity(): string | null {
    return identityOf(this.message, this.record);
  }

  /** A suspect is a copy of a message that was delivered before. */
  get isFirst(): boolean {
    return !this.message.fields.redelivered && !this.owner.isSuspect(this.message);
  }

  ack(): void {
    this.owner.ack(this);
    this.owner.acked(this);
  }

  async release(): Promise<void> {
    this.owner.release(this);
  }

  wait(): void {
    this.owner.wait(this);
  }
}

function retry(this: AmqpDelivery, headers: Readonly<Record<string, string>>, delay: number): Promise<void> {
  return this.owner.retry(this, headers, delay);
}

/** Marked messages in a row that are handled alone: as many times the prefetch, for a few processes that ended together. */
const markedFactor = 10;
/** Acknowledgements of which nobody knows if the broker has them: when there are twice as many, the newest are kept. */
const mostAcked = 5000;
/** Milliseconds between looks at the queue of suspects: a process that ended may have left some. */
const lookAgain = 5000;

/** A consumer on its own channel. The end of the channel is the end of the consumer. */
export class AmqpConsumer implements BrokerConsumer {
  readonly #link: AmqpLink;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #share: ConsumerShare;
  /** Null while there is no channel. */
  #unsettled: Unsettled | null = null;
  #channel: AmqpChannel | null = null;
  #queue = "";
  #suspects: string | null = null;
  #isSingleActive = false;
  #tag: Promise<string> | null = null;
  readonly #suspected = new WeakSet<AmqpMessage>();
  /** Messages in a row that were delivered before. */
  #marked = 0;
  /** Messages that came during a pause, or while suspects are handled; and the suspects. */
  #waiting: AmqpMessage[] = [];
  /** Ends when suspects were handled alone; null if there are none. */
  #alone: Promise<void> | null = null;
  #settled: (() => void) | null = null;
  readonly #parked = new Parked<AmqpMessage>({
    keyOf,
    bytesOf: ({ content }) => content.length,
    open: () => this.#unsettled?.open ?? [],
    counted: ({ credit }, by) => {
      if (credit !== undefined) credit.parked += by;
    },
  });
  #credit: Credit = { parked: 0 };
  #renewing = false;
  /** The identities of messages that were acknowledged last. RabbitMQ does not confirm it. */
  #acked: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #paused = false;
  #stopped = false;
  #ended = false;

  constructor(link: AmqpLink, request: ConsumeRequest, sink: DeliverySink, share: ConsumerShare) {
    this.#link = link;
    this.#request = request;
    this.#sink = sink;
    this.#share = share;
  }

  /** False if the queue ends with the process: nothing can wait at the broker for it. */
  get isLasting(): boolean {
    return !this.#request.broadcast;
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
      const { queue, suspects, isSingleActive } = await topology.declareConsumer(channel, this.#request);
      await channel.prefetch(this.#request.prefetch);
      this.#queue = queue;
      this.#suspects = suspects;
      this.#isSingleActive = isSingleActive;
      // From here on the loss of the channel is the consumer's failure; before, it is the error of `open`.
      reported = (error) => this.#fail(error);
      // Suspects are older than everything else.
      if (suspects !== null) await this.#look(channel, suspects);
      if (this.#alone === null) await this.#consume(channel);
      if (suspects !== null) this.#timer = setInterval(() => void this.#look(channel, suspects), lookAgain).unref();
    } catch (error) {
      // Lost after the broker had accepted the consumer: it is opened again.
      if (this.#ended && this.#link.translate(error).code === "UNREACHABLE") return;
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
    if (channel === null || this.#ended || this.#alone !== null) return;
    if (this.#waiting.some((message) => this.#suspected.has(message))) this.#beAlone(channel);
    else this.#goOn(channel).catch((error: unknown) => this.#fail(error));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
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
    const queues = this.#suspects === null ? [this.#queue] : [this.#queue, this.#suspects];
    const counts = await this.#link.onChannel((channel) => Promise.all(queues.map((name) => channel.checkQueue(name))));
    return counts.reduce((sum, { messageCount }) => sum + messageCount, this.#unsettled?.size ?? 0);
  }

  async #consume(channel: AmqpChannel): Promise<void> {
    const credit = { parked: 0 };
    this.#credit = credit;
    const receive = (message: AmqpMessage | null) => {
      // Null: the broker has ended the consumer, as when its queue is deleted.
      if (message === null)
        return this.#fail(new MessagingError("UNKNOWN_TOPIC", `the queue '${this.#queue}' is gone`));
      message.credit = credit;
      this.#unsettled?.add(message);
      this.#parked.add(message);
      this.#openRoom();
      const suspect = this.#suspects !== null && this.#suspect(message);
      // A message that came between the pause and the broker's notice of it waits here: each return to the queue counts.
      if (!suspect && !this.#paused && this.#alone === null) return this.#deliver(message, 0);
      this.#waiting.push(message);
      if (suspect && !this.#paused) this.#beAlone(channel);
    };
    this.#tag = channel.consume(this.#queue, receive).then(({ consumerTag }) => consumerTag);
    await this.#tag;
  }

  /**
   * True for a message that may have killed its process. A classic queue marks all its messages after a restart of the broker:
   * a row of marks that is much longer than what processes take over says nothing about a message.
   */
  #suspect(message: AmqpMessage): boolean {
    this.#marked = message.fields.redelivered ? this.#marked + 1 : 0;
    if (!isSuspect(message, this.#marked <= this.#request.prefetch * markedFactor)) return false;
    this.#suspected.add(message);
    return true;
  }

  #deliver(message: AmqpMessage, earlier: number): void {
    this.#sink.deliver(new AmqpDelivery(message, this, earlier));
  }

  /** Looks for suspects that other processes have left. */
  async #look(channel: AmqpChannel, suspects: string): Promise<void> {
    if (this.#alone !== null || this.#paused || this.#stopped) return;
    // A queue that was deleted ends the channel, and is declared again with the next one.
    const { messageCount } = await channel.checkQueue(suspects).catch(() => ({ messageCount: 0 }));
    if (messageCount > 0 && !this.#paused && !this.#stopped && !this.#ended) this.#beAlone(channel);
  }

  #beAlone(channel: AmqpChannel): void {
    this.#alone ??= this.#handleSuspects(channel)
      .then(async () => {
        this.#alone = null;
        if (!this.#paused) await this.#goOn(channel);
      })
      .catch((error: unknown) => this.#fail(error));
  }

  /**
   * Stops the deliveries, waits for the handlers that run, and handles suspects, one at a time. Handlers that take long are not
   * waited for, and a suspect that takes long is the last one for now: other messages are handled beside it.
   */
  async #handleSuspects(channel: AmqpChannel): Promise<void> {
    await this.#cancel();
    await this.#setAside();
    for (let found = true; found && !this.#paused && !this.#stopped && !this.#ended; ) {
      await within(this.#idle(), longestAlone);
      await this.#share.turns.run(async () => {
        if (this.#ended || this.#paused || this.#stopped) return;
        const message = await channel.get(this.#suspects!);
        found = message !== false;
        if (message === false || this.#ended) return;
        this.#unsettled?.add(message);
        this.#suspected.add(message);
        this.#deliver(message, earlierOf(message));
        await within(this.#idle(), longestAlone, () => (found = false));
      });
    }
  }

  /** Moves the suspects that wait to their queue, in their order. If RabbitMQ takes no messages, they are handled with others. */
  async #setAside(): Promise<void> {
    for (const message of this.#waiting.filter((each) => this.#suspected.has(each))) {
      const delivery = new AmqpDelivery(message, this, 0);
      try {
        await this.#share.sendLater(this.#suspects!, delivery.record, delivery.record.headers, 0);
      } catch {
        return;
      }
      if (this.#ended) return;
      this.#waiting.splice(this.#waiting.indexOf(message), 1);
      this.ack(delivery);
    }
  }

  /** Delivers what waits, and takes further messages. */
  async #goOn(channel: AmqpChannel): Promise<void> {
    if (this.#ended) return;
    for (const message of this.#waiting.splice(0)) this.#deliver(message, 0);
    if (!this.#stopped && this.#tag === null) await this.#consume(channel);
  }

  /** Resolves when no message that was delivered is unsettled. */
  async #idle(): Promise<void> {
    while (this.#unsettled !== null && this.#unsettled.size > this.#waiting.length) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    }
  }

  async #cancel(): Promise<void> {
    const tag = this.#tag;
    this.#tag = null;
    await this.#end(tag);
  }

  async #end(tag: Promise<string> | null): Promise<void> {
    const channel = this.#channel;
    if (tag === null || channel === null) return;
    try {
      await channel.cancel(await tag);
    } catch {
      // The channel is gone, and the consumer with it.
    }
  }

  /**
   * When messages that wait take up half of the prefetch, another consumer of the queue takes the place of this one: it has a
   * prefetch to itself, and what this one has received stays with the channel.
   */
  #openRoom(): void {
    // The place of the only active consumer would go to another process.
    if (this.#isSingleActive) return;
    if (this.#credit.parked * 2 < this.#request.prefetch || !this.#parked.hasRoom || this.#renewing) return;
    const channel = this.#channel;
    if (channel === null || this.#tag === null || !this.#isTaking) return;
    this.#renewing = true;
    this.#renew(channel).then(
      () => {
        this.#renewing = false;
        this.#openRoom();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  async #renew(channel: AmqpChannel): Promise<void> {
    if (this.isLasting) {
      // One after the other: a quorum queue could mix the order of two.
      await this.#cancel();
      if (this.#isTaking && this.#tag === null) await this.#consume(channel);
      return;
    }
    // A queue that ends with its last consumer.
    const tag = this.#tag;
    await this.#consume(channel);
    await this.#end(tag);
  }

  /** True if messages are to come. */
  get #isTaking(): boolean {
    return !this.#paused && !this.#stopped && !this.#ended && this.#alone === null;
  }

  wait({ message }: AmqpDelivery): void {
    if (!this.#unsettled?.open.has(message)) return;
    this.#parked.wait(message);
    this.#openRoom();
  }

  isSuspect(message: AmqpMessage): boolean {
    return this.#suspected.has(message);
  }

  /** The message is done. It is not if a copy of it goes on. */
  acked({ identity }: AmqpDelivery): void {
    if (identity === null) return;
    if (this.#acked.push(identity) >= mostAcked * 2) this.#acked.splice(0, mostAcked);
  }

  ack({ message }: AmqpDelivery): void {
    if (!this.#unsettled?.ack(message)) throw lost();
    this.#over(message);
  }

  release({ message }: AmqpDelivery): void {
    try {
      if (this.#unsettled?.release(message)) {
        this.#over(message);
        return;
      }
    } catch (error) {
      throw lost(error);
    }
    throw lost();
  }

  #over(message: AmqpMessage): void {
    this.#parked.settled(message);
    this.#openRoom();
    this.#settled?.();
  }

  async retry(delivery: AmqpDelivery, headers: Readonly<Record<string, string>>, delay: number): Promise<void> {
    if (this.#unsettled === null) throw lost();
    // First the copy, then the end of the original: between the two there are both.
    await this.#share.sendLater(this.#queue, delivery.record, headers, delay);
    this.ack(delivery);
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#forget();
    this.#sink.unconfirmed?.(this.#acked);
    this.#sink.failed(error);
  }

  /** The deliveries are with the broker again, or soon: none of them can be settled here any more. */
  #forget(): void {
    clearInterval(this.#timer);
    this.#unsettled?.end();
    this.#unsettled = null;
    this.#parked.clear();
    this.#waiting = [];
    this.#settled?.();
  }
}

function lost(cause?: unknown): MessagingError {
  return new MessagingError("LOST", "the channel of the delivery is closed", cause === undefined ? {} : { cause });
}
