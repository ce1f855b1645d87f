import type { IncomingRecord } from "../../broker.js";
import type { MessagingError } from "../../errors.js";
import { groupBy } from "../../group-by.js";
import type { KafkaClients } from "../clients.js";
import type { KafkaClientConsumer, KafkaMetadata } from "../library.js";
import { RecordBatches, Unreadable } from "./batches.js";
import type { FetchClient, FetchFrom } from "./fetch-client.js";
import { isPassing, leaderNotAvailable, offsetOutOfRange, unknownTopicId } from "./fetch-errors.js";
import type { FetchedPartition } from "./response.js";

/** More is asked for when fewer bytes than this are left, so that handlers need not wait for the next response. */
const enoughBytes = 256 * 1024;
/** Milliseconds until the next try after a failure. */
const pause = 250;
/** Failures of a partition in a row after which the fetcher gives up. Leaders move within two seconds. */
const mostFailures = 12;

export interface FetcherParts {
  readonly clients: KafkaClients;
  readonly consumer: KafkaClientConsumer;
  readonly topic: string;
  /** The partitions to read, each with its first offset. */
  readonly starts: ReadonlyMap<number, bigint>;
  /** True while records may be delivered. */
  hasRoom(): boolean;
  /** True for a partition of which none may be delivered, though there is room. */
  isFull(number: number): boolean;
  /** True for a partition whose next record is to be the only one. Those behind it wait too: else it might never be. */
  waitsForAll(number: number): boolean;
  /** False while no more records are wanted, however few there are. */
  isRunning(): boolean;
  /** With an error, the record stands for a batch that cannot be read, and the offset is the last one of the batch. */
  deliver(record: IncomingRecord, number: number, offset: bigint, unreadable?: MessagingError): void;
  /** The partition has no such offset: the broker has deleted it, or has lost the end of its log. Not read any more. */
  outOfRange(number: number, offset: bigint): void;
  /** It cannot continue. */
  failed(error: unknown): void;
}

interface Reading {
  readonly number: number;
  /** The offset to ask for next. */
  offset: bigint;
  failures: number;
}

/**
 * Reads the records of partitions: one request at a time to each broker that leads some of them. The stream of the library is
 * not used: it takes more CPU time for a message than everything here, and docs/dependencies.md names its faults.
 */
export class Fetcher {
  readonly #parts: FetcherParts;
  readonly #client: FetchClient;
  readonly #readings = new Map<number, Reading>();
  /** Records that are not delivered, in the order of their arrival. */
  readonly #queue: RecordBatches[] = [];
  /** Brokers with a request under way. */
  readonly #busy = new Set<number>();
  /** The number of brokers that lead partitions. */
  #leaders = 1;
  /** The id of the topic that is read; null until the brokers have told it. */
  #topicId: string | null = null;
  #metadataIsOld = false;
  #looking = false;
  #retry: NodeJS.Timeout | null = null;
  #turn = 0;
  #due = false;
  /** True while records are delivered, or wait for a thread that unpacks them. */
  #delivering = false;
  #closed = false;

  constructor(parts: FetcherParts) {
    this.#parts = parts;
    this.#client = parts.clients.fetchClient(parts.consumer);
    for (const [number, offset] of parts.starts) this.#readings.set(number, { number, offset, failures: 0 });
    this.update();
  }

  /**
   * Delivers records and asks for more, as far as there is room. Called after each message: it happens once in a turn of the
   * event loop, for as many records as there is room for, and not for one record with each that has ended.
   */
  update(): void {
    if (this.#due || this.#delivering || this.#closed || !this.#parts.hasRoom()) return;
    this.#due = true;
    setImmediate(() => {
      this.#due = false;
      this.#deliver();
    });
  }

  /** The offset up to which all records of a partition are delivered; 0 if some are waiting. */
  readUpTo(number: number): bigint {
    if (this.#isQueued(number)) return 0n;
    return this.#readings.get(number)?.offset ?? 0n;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#queue.length = 0;
    this.#client.close();
  }

  #deliver(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    let unpacking: Promise<void> | null = null;
    try {
      unpacking = this.#deliverReady();
    } catch (error) {
      this.#fail(error);
    }
    const resume = () => {
      this.#delivering = false;
      this.#deliver();
    };
    if (unpacking !== null) void unpacking.then(resume);
    else this.#delivering = false;
    void this.#fetchMore();
  }

  /** Delivers as many records as there is room for. A promise if the next one has to be waited for. */
  #deliverReady(): Promise<void> | null {
    const { hasRoom, isFull, waitsForAll, deliver } = this.#parts;
    /** Partitions of which none is delivered in this turn, so that no later batch of them overtakes. */
    const full = new Set<number>();
    for (let place = 0; !this.#closed && place < this.#queue.length && hasRoom(); ) {
      const batches = this.#queue[place]!;
      if (full.has(batches.number) || isFull(batches.number)) {
        full.add(batches.number);
        place++;
        continue;
      }
      if (waitsForAll(batches.number)) return null;
      const taken = batches.take();
      if (taken instanceof Promise) return taken;
      if (taken === null) this.#queue.splice(place, 1);
      else if (taken instanceof Unreadable) deliver(taken.record, batches.number, batches.offset, taken.error);
      else deliver(taken, batches.number, batches.offset);
    }
    return null;
  }

  /** Bytes that can be delivered as soon as there is room. */
  get #readyBytes(): number {
    let bytes = 0;
    for (const { number, size } of this.#queue) if (!this.#parts.isFull(number)) bytes += size;
    return bytes;
  }

  #isQueued(number: number): boolean {
    return this.#queue.some((batches) => batches.number === number);
  }

  /** Sends a request to each leader that has none under way. */
  async #fetchMore(): Promise<void> {
    const { consumer, topic, isRunning } = this.#parts;
    const waits = this.#looking || this.#retry !== null || this.#busy.size >= this.#leaders;
    if (waits || this.#closed || this.#readyBytes >= enoughBytes || this.#readings.size === 0 || !isRunning()) return;
    this.#looking = true;
    try {
      const metadata = await consumer.metadata({ topics: [topic], ...(this.#metadataIsOld && { forceUpdate: true }) });
      this.#metadataIsOld = false;
      if (!this.#closed) this.#askLeaders(metadata);
    } catch (error) {
      // The library has tried several times.
      this.#fail(error);
    } finally {
      this.#looking = false;
    }
  }

  #askLeaders(metadata: KafkaMetadata): void {
    const topic = metadata.topics.get(this.#parts.topic);
    // A topic that was deleted and made again has other messages at the same offsets.
    this.#topicId ??= topic?.id ?? null;
    if (topic !== undefined && topic.id !== this.#topicId) throw this.#parts.clients.protocolError(unknownTopicId);
    // A partition that must wait while some of its records are here is not read ahead.
    const wanted = this.#inTurn().filter(({ number }) => !(this.#isQueued(number) && this.#parts.isFull(number)));
    const leaders = groupBy(wanted, ({ number }) => topic?.partitions[number]?.leader ?? -1);
    this.#leaders = Math.max(1, leaders.size);
    for (const [leader, readings] of leaders) {
      if (!this.#busy.has(leader)) void this.#ask(metadata, leader, readings);
    }
  }

  async #ask(metadata: KafkaMetadata, leader: number, readings: readonly Reading[]): Promise<void> {
    const { clients, topic: name } = this.#parts;
    const [topic, address] = [metadata.topics.get(name), metadata.brokers.get(leader)];
    this.#busy.add(leader);
    try {
      if (topic === undefined || address === undefined) throw clients.protocolError(leaderNotAvailable);
      const wanted = readings.map(({ number, offset }) => {
        return { number, offset, leaderEpoch: topic.partitions[number]!.leaderEpoch };
      });
      const { error, throttle, partitions } = await this.#client.fetch(address, { name, id: topic.id }, wanted);
      if (error !== 0) throw clients.protocolError(error);
      if (throttle > 0) this.#pauseFor(throttle);
      if (!this.#closed) for (const answer of partitions) this.#take(answer, wanted);
    } catch (error) {
      this.#failedOnce(readings, error);
    } finally {
      this.#busy.delete(leader);
    }
    this.#deliver();
  }

  #take(answer: FetchedPartition, wanted: readonly FetchFrom[]): void {
    const { clients, topic, outOfRange } = this.#parts;
    const { number, error, records } = answer;
    const reading = this.#readings.get(number);
    // Another broker has become the leader in between, and has responded first.
    if (reading === undefined || wanted.find((each) => each.number === number)?.offset !== reading.offset) return;
    if (error === offsetOutOfRange) {
      this.#readings.delete(number);
      outOfRange(number, reading.offset);
    } else if (error !== 0) this.#failedOnce([reading], clients.protocolError(error));
    else {
      reading.failures = 0;
      if (records.length === 0) return;
      const { unpack, checksum } = clients;
      const batches = new RecordBatches(answer, { topic, from: reading.offset, unpack, checksum });
      reading.offset = batches.nextOffset;
      this.#queue.push(batches);
    }
  }

  /** Tries again after a pause, with the leaders that the brokers name then. */
  #failedOnce(readings: readonly Reading[], error: unknown): void {
    if (this.#closed) return;
    this.#metadataIsOld = true;
    for (const reading of readings) reading.failures++;
    if (!isPassing(error) || readings.some(({ failures }) => failures > mostFailures)) this.#fail(error);
    else this.#pauseFor(pause);
  }

  #pauseFor(milliseconds: number): void {
    if (this.#closed) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      void this.#fetchMore();
    }, milliseconds);
  }

  /** The partitions, each time with another one first: a response that is full has nothing of the last ones. */
  #inTurn(): Reading[] {
    const all = [...this.#readings.values()];
    const first = this.#turn++ % all.length;
    return [...all.slice(first), ...all.slice(0, first)];
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    this.close();
    this.#parts.failed(error);
  }
}
