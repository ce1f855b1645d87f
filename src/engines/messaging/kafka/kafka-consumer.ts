import type { BrokerConsumer, ConsumeRequest, DeliverySink } from "../broker.js";
import { sleep } from "../consume/sleep.js";
import { Assignment } from "./assignment.js";
import type { KafkaClients } from "./clients.js";
import { Commits } from "./commits.js";
import { type DeliveryOwner, KafkaDelivery } from "./kafka-delivery.js";
import type { KafkaClientConsumer, KafkaIncoming, KafkaStream, KafkaTransaction } from "./library.js";
import { lost, Membership } from "./membership.js";
import { lagOf, offsetsAt } from "./offsets.js";
import { recordOf } from "./records.js";
import { StreamFlow } from "./stream-flow.js";

/** Messages that are done behind one that is not: as many times the prefetch. */
const aheadFactor = 20;
/** Milliseconds that a stream may take to close. */
const longestClose = 2000;

/**
 * A member of a consumer group. Whenever the group shares its partitions anew, the stream is opened anew at the group's
 * offsets: messages under way in partitions that are still ours go on, those of others are lost.
 */
export class KafkaConsumer implements BrokerConsumer, DeliveryOwner {
  readonly #clients: KafkaClients;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #consumer: KafkaClientConsumer;
  readonly #membership: Membership;
  readonly #assignment: Assignment;
  readonly #commits: Commits;
  #stream: KafkaStream | null = null;
  /** Has the stream once it has its listener: what flows before that is lost, and would be committed with what follows. */
  readonly #flow = new StreamFlow(() => this.#hasRoom);
  #opening: Promise<void> = Promise.resolve();
  /** Streams that are being closed. */
  readonly #closing = new Set<Promise<void>>();
  #joins = 0;
  /** The join after which the partitions were last taken over. */
  #assigned = 0;
  #paused = false;
  #stopped = false;
  #ended = false;

  constructor(clients: KafkaClients, request: ConsumeRequest, sink: DeliverySink) {
    this.#clients = clients;
    this.#request = request;
    this.#sink = sink;
    this.#consumer = clients.consumer(request.group);
    this.#membership = new Membership(this.#consumer, request.topic, clients.config.sessionTimeout);
    this.#assignment = new Assignment((delivery) => sink.lost(delivery));
    this.#commits = new Commits({
      settled: () => this.#shared(),
      take: () => (this.#ended ? new Map() : this.#assignment.takeCommittable()),
      restore: (offsets) => this.#assignment.restore(offsets),
      commit: (offsets) => this.#membership.commit(offsets),
      failed: (error) => this.#fail(error),
    });
    // Without a listener the error of a failed return to the group would end the process.
    this.#consumer.on("error", (error: unknown) => this.#fail(error));
  }

  async open(): Promise<void> {
    try {
      await this.#openStream();
    } catch (error) {
      await this.close();
      throw this.#clients.translate(error);
    }
    this.#consumer.on("consumer:group:join", () => {
      this.#joins++;
      this.#opening = this.#opening.then(() => this.#reopenStream());
    });
  }

  pause(): void {
    this.#paused = true;
    this.#flow.update();
  }

  resume(): void {
    this.#paused = false;
    this.#flow.update();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#flow.update();
  }

  async close(): Promise<void> {
    if (!this.#ended) await this.#commits.flush();
    this.#ended = true;
    this.#dropStream();
    // The library leaves no group while a stream is about to close: it would stay a member for ever, with its partitions.
    while (this.#closing.size > 0) await Promise.all(this.#closing);
    await this.#consumer.close(true).catch(() => {});
  }

  async lag(): Promise<number | null> {
    return this.#ended ? null : lagOf(this.#consumer, this.#request.topic, (partition) => this.#readUpTo(partition));
  }

  async seek(to: "start" | "end" | Date): Promise<void> {
    const targets = await offsetsAt(this.#consumer, this.#request.topic, to);
    await this.#commits.flush();
    const assigned = this.#assignment.clear();
    await this.#membership.commit(new Map(assigned.map((partition) => [partition, targets[partition] ?? 0n])));
    this.#opening = this.#opening.then(() => this.#reopenStream());
    await this.#opening;
  }

  async addTo(transaction: KafkaTransaction, deliveries: readonly KafkaDelivery[]): Promise<void> {
    const last = this.#assignment.lastOf(deliveries);
    if (!this.#assignment.isGapless(deliveries)) {
      // A message was given up without a result: it is read again from the offsets of the group.
      this.#fail(lost());
      throw lost();
    }
    await this.#membership.addTo(transaction, last);
  }

  transacted(deliveries: readonly KafkaDelivery[]): void {
    this.#assignment.committed(deliveries);
    this.#flow.update();
  }

  restart(error: unknown): void {
    this.#fail(error);
  }

  /** Opens a stream at the offsets of the group, and waits until they are known. */
  async #openStream(): Promise<void> {
    const { topic, from, broadcast } = this.#request;
    const stream = await this.#consumer.consume({
      topics: [topic],
      autocommit: false,
      mode: broadcast ? "latest" : "committed",
      fallbackMode: from === "start" ? "earliest" : "latest",
    });
    if (this.#ended) return this.#closeStream(stream);
    const joins = this.#joins;
    let fail: (error: unknown) => void = () => {};
    const ready = new Promise<void>((resolve, reject) => {
      fail = reject;
      stream.on("offsets", () => resolve());
      // One that is closed before it knows its offsets never tells: those who wait for the partitions must not wait for ever.
      stream.on("close", () => reject(lost()));
    });
    stream.on("error", (error: unknown) => fail(error));
    this.#stream = stream;
    await ready;
    // From here on an error is the end of the consumer.
    fail = (error) => this.#fail(error);
    if (this.#stream !== stream || this.#ended) return;
    this.#assign(stream, joins);
    if (!broadcast) await this.#commitStart(stream);
    this.#commitSoon();
    // The group has changed meanwhile: this stream is about to be replaced.
    if (joins !== this.#joins || this.#stream !== stream) return;
    stream.on("data", (message: KafkaIncoming) => {
      if (this.#stream === stream) this.#receive(message);
    });
    this.#flow.attach(stream);
  }

  async #reopenStream(): Promise<void> {
    if (this.#ended) return;
    this.#dropStream();
    try {
      await this.#openStream();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Takes over the partitions that are ours now, and gives up the others. */
  #assign(stream: KafkaStream, joins: number): void {
    const { topic } = this.#request;
    this.#assigned = joins;
    const assigned = new Set(this.#consumer.assignments?.find((share) => share.topic === topic)?.partitions ?? []);
    this.#assignment.assign(assigned, (number) => stream.offsetsToFetch.get(`${topic}:${number}`) ?? 0n);
  }

  /**
   * Commits the offsets that the stream begins at. A partition without one would begin at the end or the start again when the
   * group is shared anew, whatever has been read of it.
   */
  async #commitStart(stream: KafkaStream): Promise<void> {
    const { topic } = this.#request;
    const { numbers } = this.#assignment;
    if (numbers.length === 0) return;
    const known = await this.#consumer.listCommittedOffsets({ topics: [{ topic, partitions: numbers }] });
    const committed = known.get(topic);
    const starts = numbers
      .filter((number) => (committed?.[number] ?? -1n) < 0n)
      .map((number) => [number, stream.offsetsToFetch.get(`${topic}:${number}`) ?? 0n] as const);
    await this.#membership.commit(new Map(starts));
  }

  #receive(message: KafkaIncoming): void {
    const { offset, partition: number } = message;
    const partition = this.#assignment.expecting(number, offset);
    if (partition === null) return;
    const delivery = new KafkaDelivery(recordOf(message), this, partition, number, offset);
    this.#assignment.add(delivery);
    this.#sink.deliver(delivery);
    this.#flow.update();
  }

  ack(delivery: KafkaDelivery): Promise<void> | undefined {
    // The group is being shared anew: nobody knows yet if the message is still ours.
    const sharing = this.#shared();
    if (sharing !== null) return sharing.then(() => this.#done(delivery));
    this.#done(delivery);
    return undefined;
  }

  release(delivery: KafkaDelivery): void {
    this.#settle(delivery);
    // It stays uncommitted: the next owner of the partition gets it. While this one goes on, it is delivered again.
    if (this.#stopped) return;
    const { record, partition, number, offset } = delivery;
    const next = new KafkaDelivery(record, this, partition, number, offset);
    this.#assignment.addAgain(next, delivery);
    setImmediate(() => {
      // The partition may belong to another consumer by now, which gets the message then.
      if (this.#assignment.isOpen(next) && !this.#ended) this.#sink.deliver(next);
    });
  }

  #done(delivery: KafkaDelivery): void {
    this.#settle(delivery);
    this.#assignment.done(delivery);
    this.#commitSoon();
    this.#flow.update();
  }

  /** Counts the result of a delivery. Throws LOST if it belongs to another consumer by now. */
  #settle(delivery: KafkaDelivery): void {
    const known = !this.#ended && this.#assignment.isOpen(delivery);
    if (known && this.#membership.owns(delivery.number)) {
      this.#assignment.settled();
      return;
    }
    // Everything begins anew then: a message that is lost here would not be delivered again as long as others wait.
    if (!this.#membership.isAlive) this.#fail(lost());
    throw lost();
  }

  /** Resolves when it is known which partitions are ours; null if it is. */
  #shared(): Promise<void> | null {
    return this.#assigned === this.#joins ? null : this.#opening;
  }

  /** The offset up to which nothing is left of a partition: the ends of transactions have offsets, but no message. */
  #readUpTo(number: number): bigint {
    if (!this.#assignment.isDone(number) || this.#stream === null || this.#stream.readableLength > 0) return 0n;
    return this.#stream.offsetsToFetch.get(`${this.#request.topic}:${number}`) ?? 0n;
  }

  /** False if there are enough messages, or somebody has paused or stopped the consumer. */
  get #hasRoom(): boolean {
    const { prefetch } = this.#request;
    const full = this.#assignment.unsettled >= prefetch || this.#assignment.size >= prefetch * aheadFactor;
    return !(this.#paused || this.#stopped || full);
  }

  #commitSoon(): void {
    // The group of a broadcast ends with the process.
    if (this.#request.broadcast) this.#assignment.takeCommittable();
    else this.#commits.soon();
  }

  #dropStream(): void {
    const stream = this.#stream;
    this.#stream = null;
    this.#flow.detach();
    if (stream === null) return;
    this.#closeStream(stream);
  }

  #closeStream(stream: KafkaStream): void {
    stream.removeAllListeners("data");
    stream.on("error", () => {});
    const enough = new AbortController();
    // One that does not close by itself is cut off.
    const late = sleep(longestClose, enough.signal).then(() => void stream.destroy());
    const closing = Promise.race([stream.close().catch(() => {}), late]).finally(() => {
      enough.abort();
      this.#closing.delete(closing);
    });
    this.#closing.add(closing);
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#dropStream();
    this.#sink.failed(this.#clients.translate(error));
  }
}
