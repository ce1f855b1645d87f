import type { BrokerConsumer, ConsumeRequest, DeliverySink, IncomingRecord } from "../broker.js";
import { Assignment } from "./assignment.js";
import type { KafkaClients } from "./clients.js";
import { Commits } from "./commits.js";
import { Fetcher } from "./fetch/fetcher.js";
import { type DeliveryOwner, KafkaDelivery } from "./kafka-delivery.js";
import type { KafkaClientConsumer, KafkaTransaction } from "./library.js";
import { lost, Membership } from "./membership.js";
import { lagOf, nearestOffset, offsetsAt, type Starts, startsOf } from "./offsets.js";

/** Messages that are done behind one that is not: as many times the prefetch. */
const aheadFactor = 20;

/**
 * A member of a consumer group. Whenever the group shares its partitions anew, reading begins anew: messages under way in
 * partitions that are still ours go on, those of others are lost.
 */
export class KafkaConsumer implements BrokerConsumer, DeliveryOwner {
  readonly #clients: KafkaClients;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #consumer: KafkaClientConsumer;
  readonly #membership: Membership;
  readonly #assignment: Assignment;
  readonly #commits: Commits;
  #fetcher: Fetcher | null = null;
  #opening: Promise<void> = Promise.resolve();
  #joins = 0;
  /** The join after which the partitions were last taken over. */
  #assigned = 0;
  #paused = false;
  #stopped = false;
  #ended = false;
  #end: () => void = () => {};
  readonly #ending = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

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
      this.#consumer.topics.track(this.#request.topic);
      await this.#consumer.joinGroup({});
      // Of the first share we know. Each further one must be heard of, also while this one is being opened.
      this.#consumer.on("consumer:group:join", () => {
        this.#joins++;
        void this.#reopen();
      });
      const opening = this.#openFetcher();
      this.#opening = opening.catch(() => {});
      await opening;
      // The library has reported an error while it was being opened.
      if (this.#ended) throw lost();
    } catch (error) {
      await this.close();
      throw this.#clients.translate(error);
    }
  }

  pause(): void {
    this.#paused = true;
    this.#fetcher?.update();
  }

  resume(): void {
    this.#paused = false;
    this.#fetcher?.update();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#fetcher?.update();
  }

  async close(): Promise<void> {
    if (!this.#ended) await this.#commits.flush();
    this.#endReading();
    await this.#consumer.close(true).catch(() => {});
  }

  async lag(): Promise<number | null> {
    return this.#ended ? null : lagOf(this.#consumer, this.#request.topic, (partition) => this.#readUpTo(partition));
  }

  async seek(to: "start" | "end" | Date): Promise<void> {
    const targets = await offsetsAt(this.#consumer, this.#request.topic, to);
    await this.#moveTo(new Map(this.#assignment.numbers.map((number) => [number, targets[number] ?? 0n])));
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
    this.#fetcher?.update();
  }

  restart(error: unknown): void {
    this.#fail(error);
  }

  /** Takes over the partitions that are ours now, gives up the others, and reads. */
  async #openFetcher(moved?: ReadonlyMap<number, bigint>): Promise<void> {
    const { topic, broadcast } = this.#request;
    const joins = this.#joins;
    const share = this.#consumer.assignments?.find((each) => each.topic === topic)?.partitions ?? [];
    const { offsets, fresh } = await this.#startsOf(share, moved);
    // The group has changed meanwhile: it is about to be opened again.
    if (joins !== this.#joins || this.#ended) return;
    this.#assigned = joins;
    this.#assignment.assign(new Set(share), (number) => offsets.get(number) ?? 0n);
    // A partition without an offset would begin at the end or the start again when the group is shared anew.
    if (!broadcast) await this.#membership.commit(fresh);
    this.#commitSoon();
    if (joins !== this.#joins || this.#ended) return;
    this.#fetcher = new Fetcher({
      clients: this.#clients,
      consumer: this.#consumer,
      topic,
      starts: new Map(share.map((number) => [number, this.#assignment.nextOf(number) ?? 0n])),
      hasRoom: () => this.#hasRoom,
      isRunning: () => !(this.#paused || this.#stopped),
      deliver: (record, number, offset) => this.#receive(record, number, offset),
      outOfRange: (number, offset) => void this.#leaveGap(number, offset),
      failed: (error) => this.#fail(error),
    });
  }

  /** Where partitions begin: at the offsets of the group. The group of a broadcast has none, and each begins once. */
  async #startsOf(share: readonly number[], moved: ReadonlyMap<number, bigint> = new Map()): Promise<Starts> {
    const { topic, from, broadcast } = this.#request;
    if (!broadcast) return startsOf(this.#consumer, topic, share, from);
    const ends = await offsetsAt(this.#consumer, topic, "end");
    const startOf = (number: number) => moved.get(number) ?? this.#assignment.nextOf(number) ?? ends[number] ?? 0n;
    return { offsets: new Map(share.map((number) => [number, startOf(number)])), fresh: new Map() };
  }

  /** Opens anew, one after the other. */
  #reopen(moved?: ReadonlyMap<number, bigint>): Promise<void> {
    this.#opening = this.#opening.then(async () => {
      if (this.#ended) return;
      this.#dropFetcher();
      // A change of the group may have taken the partitions over at their old offsets meanwhile.
      if (moved !== undefined) this.#assignment.drop(moved.keys());
      await this.#openFetcher(moved).catch((error: unknown) => this.#fail(error));
    });
    return this.#opening;
  }

  /** Goes to these offsets. Messages under way in their partitions are lost. */
  async #moveTo(targets: ReadonlyMap<number, bigint>): Promise<void> {
    // Nothing is read meanwhile: the flush ends when nothing is left to commit.
    this.#dropFetcher();
    try {
      await this.#commits.flush();
      this.#assignment.drop(targets.keys());
      if (!this.#request.broadcast) await this.#membership.commit(targets);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    await this.#reopen(targets);
  }

  /** The broker does not have this offset. */
  async #leaveGap(number: number, offset: bigint): Promise<void> {
    try {
      const { topic, from } = this.#request;
      const target = await nearestOffset(this.#consumer, topic, number, offset, from);
      if (!this.#ended) await this.#moveTo(new Map([[number, target]]));
    } catch (error) {
      this.#fail(error);
    }
  }

  #receive(record: IncomingRecord, number: number, offset: bigint): void {
    const partition = this.#assignment.expecting(number, offset);
    if (partition === null) return;
    const delivery = new KafkaDelivery(record, this, partition, number, offset);
    this.#assignment.add(delivery);
    this.#sink.deliver(delivery);
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
    this.#fetcher?.update();
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

  /** Resolves when it is known which partitions are ours, or nobody will know any more; null if it is known. */
  #shared(): Promise<void> | null {
    return this.#isShared ? null : this.#untilShared();
  }

  get #isShared(): boolean {
    return this.#ended || this.#assigned === this.#joins;
  }

  async #untilShared(): Promise<void> {
    // The group can change again while it is opened.
    while (!this.#isShared) await Promise.race([this.#opening, this.#ending]);
  }

  /** The offset up to which nothing is left of a partition: the ends of transactions have offsets, but no message. */
  #readUpTo(number: number): bigint {
    return this.#assignment.isDone(number) ? (this.#fetcher?.readUpTo(number) ?? 0n) : 0n;
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

  #dropFetcher(): void {
    this.#fetcher?.close();
    this.#fetcher = null;
  }

  #endReading(): void {
    this.#ended = true;
    this.#end();
    this.#dropFetcher();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#endReading();
    this.#sink.failed(this.#clients.translate(error));
  }
}
