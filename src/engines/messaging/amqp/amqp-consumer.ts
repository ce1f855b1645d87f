import type { BrokerConsumer, ConsumeRequest, DeliverySink, IncomingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import type { Turns } from "../suspects.js";
import { AmqpDelivery, type AmqpDeliveryOwner } from "./amqp-delivery.js";
import { AmqpSuspects, type SuspectsOwner } from "./amqp-suspects.js";
import type { AmqpChannel, AmqpMessage } from "./amqplib.js";
import { type AmqpLink, closed } from "./link.js";
import { QueueReader, type QueueReaderOwner } from "./queue-reader.js";
import { recordOf } from "./records.js";
import type { ConsumerQueues, Topology } from "./topology.js";
import { Unsettled } from "./unsettled.js";

/** Sends a copy of a record to a queue after a delay, with other headers. */
export type SendLater = (
  queue: string,
  record: IncomingRecord,
  headers: RecordHeaders,
  delayMs: number,
) => Promise<void>;

type RecordHeaders = IncomingRecord["headers"];

/** The parts of the broker that its consumers share. */
export interface ConsumerShare {
  readonly link: AmqpLink;
  readonly topology: Topology;
  readonly sendLater: SendLater;
  readonly turns: Turns;
}

/** Acknowledgements that the broker has perhaps not received: when there are twice as many, the newest are kept. */
const mostAcked = 5000;

/** Opens a consumer on its own channel. */
export async function openConsumer(
  share: ConsumerShare,
  request: ConsumeRequest,
  sink: DeliverySink,
): Promise<AmqpConsumer> {
  const { link, topology } = share;
  let consumer: AmqpConsumer | null = null;
  // From the first message on the loss of the channel is the consumer's failure; before, it is the error of the opening.
  const channel = await link.channel((error) => consumer?.fail(error));
  try {
    const queues = await topology.declareConsumer(channel, request);
    await channel.prefetch(request.prefetch);
    consumer = new AmqpConsumer(share, request, sink, channel, queues);
    await consumer.begin();
    return consumer;
  } catch (error) {
    const failure = link.translate(error);
    // Lost after the broker had accepted the consumer: it is opened again.
    if (consumer?.hasFailed && failure.code === "UNREACHABLE") return consumer;
    await (consumer?.close() ?? closed(channel));
    throw failure;
  }
}

/** A consumer on its own channel. The end of the channel is the end of the consumer. */
export class AmqpConsumer implements BrokerConsumer, AmqpDeliveryOwner, QueueReaderOwner, SuspectsOwner {
  readonly prefetch: number;
  readonly isLasting: boolean;
  readonly unsettled: Unsettled;
  /** Messages that came during a pause, or while suspects are handled; and the suspects. */
  readonly waiting: AmqpMessage[] = [];
  readonly #reader: QueueReader;
  readonly #suspects: AmqpSuspects | null;
  #settled: (() => void) | null = null;
  /** The identities of messages that were acknowledged last. RabbitMQ does not confirm it. */
  #acked: string[] = [];
  #paused = false;
  #stopped = false;
  #ended = false;

  constructor(
    private readonly share: ConsumerShare,
    { prefetch, broadcast }: ConsumeRequest,
    private readonly sink: DeliverySink,
    readonly channel: AmqpChannel,
    private readonly queues: ConsumerQueues,
  ) {
    this.prefetch = prefetch;
    this.isLasting = !broadcast;
    this.unsettled = new Unsettled(channel, prefetch);
    this.#reader = new QueueReader(queues.queue, this, !queues.isSingleActive);
    this.#suspects =
      queues.suspects === null ? null : new AmqpSuspects(queues.suspects, share.turns, this.#reader, this);
  }

  get hasFailed(): boolean {
    return this.#ended;
  }

  get isActive(): boolean {
    return !this.#paused && !this.#stopped && !this.#ended;
  }

  get isTaking(): boolean {
    return this.isActive && !this.#suspects?.isBusy;
  }

  async begin(): Promise<void> {
    // Suspects are older than everything else.
    await this.#suspects?.look();
    if (!this.#suspects?.isBusy) await this.#reader.begin();
    this.#suspects?.watch();
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    void this.#reader.end();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    const suspects = this.#suspects;
    if (suspects?.isBusy) return;
    if (!this.#ended && suspects !== null && this.waiting.some((message) => suspects.has(message))) suspects.handle();
    else this.goOn().catch((error: unknown) => this.fail(error));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#suspects?.stop();
    await this.#reader.end();
  }

  async close(): Promise<void> {
    // One that has failed is opened again, and continues with its queue.
    const isLast = !this.isLasting && !this.#ended;
    this.#forget();
    if (isLast) await this.channel.deleteQueue(this.queues.queue).catch(() => {});
    // Waits for the broker: everything that was settled before is settled there too.
    await closed(this.channel);
  }

  async lag(): Promise<number | null> {
    if (this.#ended) return null;
    const { queue, suspects } = this.queues;
    const names = suspects === null ? [queue] : [queue, suspects];
    const counts = await this.share.link.onChannel((channel) =>
      Promise.all(names.map((name) => channel.checkQueue(name))),
    );
    return counts.reduce((sum, { messageCount }) => sum + messageCount, this.unsettled.size);
  }

  receive(message: AmqpMessage): void {
    this.unsettled.add(message);
    const suspect = this.#suspects?.suspect(message);
    // A message that came between the pause and the broker's notice of it waits here: each return to the queue counts.
    if (suspect || this.#paused || this.#suspects?.isBusy) this.waiting.push(message);
    else this.#deliver(message, 0);
    if (suspect && !this.#paused) this.#suspects!.handle();
  }

  deliverAlone(message: AmqpMessage, earlier: number): void {
    if (this.#ended) return;
    this.unsettled.add(message);
    this.#deliver(message, earlier);
  }

  #deliver(message: AmqpMessage, earlier: number): void {
    this.sink.deliver(new AmqpDelivery(message, this, earlier));
  }

  async goOn(): Promise<void> {
    if (this.#ended || this.#paused) return;
    for (const message of this.waiting.splice(0)) this.#deliver(message, 0);
    if (!this.#stopped) await this.#reader.begin();
  }

  async idle(): Promise<void> {
    while (this.unsettled.size > this.waiting.length) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    }
  }

  isSuspect(message: AmqpMessage): boolean {
    return this.#suspects?.has(message) ?? false;
  }

  wait(message: AmqpMessage): void {
    if (this.unsettled.open.has(message)) this.#reader.wait(message);
  }

  done(delivery: AmqpDelivery): void {
    this.#ack(delivery.message);
    const { identity } = delivery;
    if (identity === null) return;
    if (this.#acked.push(identity) >= mostAcked * 2) this.#acked.splice(0, mostAcked);
  }

  release(message: AmqpMessage): void {
    let released = false;
    try {
      released = this.unsettled.release(message);
    } catch (error) {
      throw lost(error);
    }
    if (!released) throw lost();
    this.#over(message);
  }

  move(message: AmqpMessage, queue: string): Promise<void> {
    const record = recordOf(message);
    return this.#copy(message, queue, record, record.headers, 0);
  }

  retry({ message, record }: AmqpDelivery, headers: RecordHeaders, delayMs: number): Promise<void> {
    return this.#copy(message, this.queues.queue, record, headers, delayMs);
  }

  /** First the copy, then the end of the original: between the two there are both. */
  async #copy(message: AmqpMessage, ...copy: Parameters<SendLater>): Promise<void> {
    if (!this.unsettled.open.has(message)) throw lost();
    await this.share.sendLater(...copy);
    this.#ack(message);
  }

  #ack(message: AmqpMessage): void {
    if (!this.unsettled.ack(message)) throw lost();
    this.#over(message);
  }

  #over(message: AmqpMessage): void {
    this.#reader.settled(message);
    this.#settled?.();
  }

  fail(error: unknown): void {
    if (this.#ended) return;
    this.#forget();
    this.sink.unconfirmed?.(this.#acked);
    this.sink.failed(error);
  }

  /** The deliveries are with the broker again, or soon: none of them can be settled here any more. */
  #forget(): void {
    this.#ended = true;
    this.#suspects?.stop();
    this.unsettled.end();
    this.#reader.clear();
    this.waiting.length = 0;
    this.#settled?.();
  }
}

function lost(cause?: unknown): MessagingError {
  return new MessagingError("LOST", "the channel of the delivery is closed", cause === undefined ? {} : { cause });
}
