import { milliseconds } from "../../../kit/time/duration.js";
import { sleep, within } from "../../../kit/time/within.js";
import type { BrokerConsumer, ConsumeRequest, Delivery, DeliverySink, SeekTarget } from "../broker.js";
import { MessagingError } from "../errors.js";
import type { KafkaClients } from "./clients.js";
import { Deliveries } from "./deliveries.js";
import { Fetcher } from "./fetch/fetcher.js";
import { Assignment, type Start } from "./group/assignment.js";
import { GroupCommits } from "./group/group-commits.js";
import { GroupOffsets } from "./group/group-offsets.js";
import { Joining } from "./group/joining.js";
import { lost, Membership } from "./group/membership.js";
import { broadcastStarts, checkedOffset, lagsOf, nearestOffset, offsetsAt, startsOf } from "./group/offsets.js";
import type { KafkaDelivery } from "./kafka-delivery.js";
import type { KafkaClientConsumer } from "./library.js";

/** Tries to commit when the consumer leaves its group while others join, and milliseconds between them. */
const mostFlushes = 30;
const flushPause = 100;
/** Milliseconds after which further messages are handled while the group waits for other members: one may be dead. */
const patience = 1000;

/**
 * A member of a consumer group. When the group is shared again, the work of partitions that may go to others is ended and
 * committed before: in a cooperative group of those that the group has taken away, else of all. The others continue.
 */
export class KafkaConsumer implements BrokerConsumer {
  readonly #clients: KafkaClients;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #consumer: KafkaClientConsumer;
  readonly #joining: Joining;
  readonly #instance: ReturnType<KafkaClients["takeInstance"]>;
  readonly #membership: Membership;
  readonly #assignment: Assignment;
  readonly #commits: GroupCommits;
  readonly #offsets: GroupOffsets;
  readonly #deliveries: Deliveries;
  #fetcher: Fetcher | null = null;
  #opening: Promise<void> = Promise.resolve();
  #joins = 0;
  #waiting: NodeJS.Timeout | undefined;
  /** Aborted when the group no longer responds. */
  readonly #giveUp = new AbortController();
  #paused = false;
  #stopped = false;
  #ended = false;

  constructor(clients: KafkaClients, request: ConsumeRequest, sink: DeliverySink) {
    this.#clients = clients;
    this.#request = request;
    this.#sink = sink;
    const sessionTimeout = milliseconds(clients.config.sessionTimeout);
    const silent = () => {
      this.#giveUp.abort(lost());
      this.#fail(lost());
    };
    this.#joining = new Joining((isMember) => this.#beforeJoin(isMember), sessionTimeout, silent);
    this.#instance = clients.takeInstance(request);
    this.#consumer = clients.consumer(request.group, this.#joining, this.#instance?.id);
    const offsets = new GroupOffsets(clients, this.#consumer, request.topic);
    this.#offsets = offsets;
    const lose = (delivery: KafkaDelivery) => {
      this.#deliveries.suspects.settled(delivery);
      sink.lost(delivery);
    };
    const unconfirmed = (identities: Iterable<string>) => sink.unconfirmed?.(identities);
    const assignment = new Assignment(clients.owner, request.prefetch, lose, unconfirmed);
    this.#assignment = assignment;
    this.#membership = new Membership(this.#consumer, offsets, assignment, request.topic, this.#joining);
    const failed = (error: unknown) => this.#fail(error);
    this.#commits = new GroupCommits({
      assignment: this.#assignment,
      membership: this.#membership,
      owner: clients.owner,
      broadcast: request.broadcast,
      accepted: () => this.#fetcher?.update(),
      failed,
    });
    this.#deliveries = new Deliveries({
      assignment: this.#assignment,
      membership: this.#membership,
      commits: this.#commits,
      sink,
      isStopped: () => this.#stopped,
      isEnded: () => this.#ended,
      update: () => this.#fetcher?.update(),
      failed,
    });
    // Without a listener the error of a failed return to the group would end the process.
    this.#consumer.on("error", (error: unknown) => this.#fail(error));
  }

  async open(): Promise<void> {
    try {
      this.#consumer.topics.track(this.#request.topic);
      await within(this.#consumer.joinGroup({}), Infinity, undefined, this.#giveUp.signal);
      this.#joining.shared();
      // Of the first share we know. Each further one must be heard of, also while this one is being opened.
      this.#consumer.on("consumer:group:join", () => this.#joined());
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
    for (let tries = 0; tries < mostFlushes && !this.#ended && !(await this.#commits.handOver()); tries++)
      await sleep(flushPause);
    this.#endReading();
    await this.#consumer.close(true).catch(() => {});
    this.#joining.close();
    this.#offsets.close();
  }

  async lag(): Promise<number | null> {
    const lags = await this.lags();
    return lags && [...lags.values()].reduce((sum, lag) => sum + lag, 0);
  }

  async lags(): Promise<ReadonlyMap<number, number> | null> {
    return this.#ended
      ? null
      : lagsOf(this.#consumer, this.#offsets, this.#request.topic, (partition) => this.#readUpTo(partition));
  }

  async seek(to: SeekTarget): Promise<void> {
    if (typeof to === "object" && !(to instanceof Date)) {
      const { partition, offset } = checkedOffset(to);
      if (this.#assignment.has(partition)) return this.#moveTo(new Map([[partition, offset]]));
      throw new MessagingError("LOST", `partition ${partition} of '${this.#request.topic}' is not one of this process`);
    }
    const targets = await offsetsAt(this.#consumer, this.#request.topic, to);
    await this.#moveTo(new Map(this.#assignment.numbers.map((number) => [number, targets[number] ?? 0n])));
  }

  /** Takes over the partitions that are new here, and reads all. */
  async #openFetcher(moved?: ReadonlyMap<number, bigint>): Promise<void> {
    const joins = this.#joins;
    const share = this.#membership.partitions;
    const added = share.filter((number) => !this.#assignment.has(number));
    const starts = await this.#startsOf(added, joins, moved).catch((error: unknown) => {
      if (joins === this.#joins) throw error;
      return null;
    });
    // The group has changed in between: it is about to be opened again.
    if (starts === null || joins !== this.#joins || this.#ended) return;
    this.#assignment.assign(starts);
    if ([...starts.values()].some(({ abandoned }) => abandoned)) this.#deliveries.suspects.begin();
    await this.#commits.takeOver(added);
    if (joins !== this.#joins || this.#ended) return;
    this.#dropFetcher();
    this.#fetcher = new Fetcher({
      clients: this.#clients,
      consumer: this.#consumer,
      topic: this.#request.topic,
      starts: new Map(share.map((number) => [number, this.#assignment.nextOf(number) ?? 0n])),
      hasRoom: () => this.#hasRoom,
      isFull: (number) => this.#assignment.isFull(number),
      waitsForAll: (number) => this.#waitsForAll(number),
      isRunning: () => !(this.#paused || this.#stopped),
      deliver: (record, number, offset, unreadable) => this.#deliveries.receive(record, number, offset, unreadable),
      outOfRange: (number, offset) => void this.#leaveGap(number, offset),
      failed: (error) => this.#fail(error),
    });
  }

  /** The consumer is about to join: the work of partitions that may go to others ends, and is committed as long as they are ours. */
  async #beforeJoin(isMember: boolean): Promise<void> {
    if (this.#ended) throw lost();
    clearTimeout(this.#waiting);
    const assignment = this.#assignment;
    const { isCooperative } = this.#joining;
    // The group gives the partitions of a member that it does not know to others.
    if (!isMember) assignment.drop(assignment.numbers);
    if (!isCooperative) assignment.freeze(assignment.numbers);
    if (assignment.frozen.length === 0) return;
    await this.#hold(milliseconds(this.#clients.config.sessionTimeout) / 3);
    await this.#commits.flush();
    if (isCooperative) {
      assignment.drop(assignment.frozen);
      this.#resume();
      return;
    }
    this.#waiting = setTimeout(() => {
      assignment.thaw();
      this.#resume();
    }, patience).unref();
  }

  /** The group has been shared. Partitions that stay ours continue; those that others may have are lost. */
  #joined(): void {
    const assignment = this.#assignment;
    const { isCooperative, announced } = this.#joining;
    const isOurs = (number: number) => this.#membership.partitions.includes(number);
    const isContinuous = this.#joining.shared();
    const taken = assignment.numbers.filter((number) => !(isContinuous && isOurs(number)));
    this.#joins++;
    clearTimeout(this.#waiting);
    assignment.thaw();
    if (isCooperative && isContinuous) assignment.freeze(taken);
    else assignment.drop(taken);
    this.#resume();
    void this.#reopen();
    // A partition that the group has taken away gets no owner before the former one has joined without it.
    if (!isCooperative || announced.flatMap(({ partitions }) => partitions).every(isOurs)) return;
    setImmediate(() => void this.#consumer.joinGroup({}).catch((error: unknown) => this.#fail(error)));
  }

  /** Begins nothing in partitions that may go to others. Resolves when what runs has ended, or after so many milliseconds. */
  async #hold(timeoutMs: number): Promise<void> {
    await this.#sink.hold?.(timeoutMs, (delivery: Delivery) =>
      this.#assignment.isFrozen((delivery as KafkaDelivery).number),
    );
  }

  /** Continues in all partitions that are not frozen. */
  #resume(): void {
    if (this.#assignment.frozen.length > 0) void this.#hold(0);
    else this.#sink.resume?.();
    this.#fetcher?.update();
    this.#commits.soon();
  }

  /** Where partitions begin: at the offsets of the group. The group of a broadcast has none, and each begins once. */
  #startsOf(
    partitions: readonly number[],
    joins: number,
    moved?: ReadonlyMap<number, bigint>,
  ): Promise<Map<number, Start>> {
    const { topic, from, broadcast } = this.#request;
    const known = (number: number) => moved?.get(number) ?? this.#assignment.nextOf(number);
    if (broadcast) return broadcastStarts(this.#consumer, topic, partitions, known);
    const wanted = () => joins === this.#joins && !this.#ended;
    const committed = () => this.#offsets.fetch(partitions, { stable: true, wanted });
    return startsOf(this.#consumer, { topic, partitions, from, owner: this.#clients.owner, committed });
  }

  /** Opens again, one after the other. */
  #reopen(moved?: ReadonlyMap<number, bigint>): Promise<void> {
    this.#opening = this.#opening.then(async () => {
      if (this.#ended) return;
      // A change of the group may have taken the partitions over at their old offsets in between.
      if (moved !== undefined) this.#assignment.drop(moved.keys(), true);
      await this.#openFetcher(moved).catch((error: unknown) => this.#fail(error));
    });
    return this.#opening;
  }

  /** Goes to these offsets. Messages under way in their partitions are lost. */
  async #moveTo(targets: ReadonlyMap<number, bigint>): Promise<void> {
    // Nothing is read during the flush: it ends when nothing is left to commit.
    this.#dropFetcher();
    try {
      await this.#commits.flush();
      this.#assignment.drop(targets.keys(), true);
      await this.#commits.moveTo(targets);
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

  /** The offset up to which nothing is left of a partition: the ends of transactions have offsets, but no message. */
  #readUpTo(number: number): bigint {
    return this.#assignment.isDone(number) ? (this.#fetcher?.readUpTo(number) ?? 0n) : 0n;
  }

  /** False if there are enough messages, nothing can be committed, or the consumer is paused or stopped. */
  get #hasRoom(): boolean {
    const waits = this.#paused || this.#stopped || this.#commits.isRefused || this.#deliveries.suspects.busy;
    return !waits && this.#assignment.hasRoom;
  }

  /** True if a message that is handled alone has to wait for others. */
  #waitsForAll(number: number): boolean {
    const assignment = this.#assignment;
    return assignment.isSuspect(number) && assignment.unsettled > 0 && this.#deliveries.suspects.waits();
  }

  #dropFetcher(): void {
    this.#fetcher?.close();
    this.#fetcher = null;
  }

  #endReading(): void {
    this.#ended = true;
    this.#instance?.free();
    this.#commits.stop();
    clearTimeout(this.#waiting);
    this.#deliveries.suspects.stop();
    this.#dropFetcher();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#endReading();
    this.#assignment.end();
    this.#sink.failed(this.#clients.translate(error));
  }
}
