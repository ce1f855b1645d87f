import { mostParkedBytes, Parked } from "../../parked.js";
import type { KafkaDelivery } from "../kafka-delivery.js";
import { type GroupOffset, Partition } from "../partition.js";
import { identityOf } from "../records.js";
import { lost } from "./membership.js";
import type { Progress } from "./progress.js";

/** Where the reading of a partition begins. */
export interface Start {
  readonly offset: bigint;
  /** What the group knows of the messages after the offset; null if it knows nothing. */
  readonly progress: Progress | null;
  /** True if the process that had the partition has ended without leaving it in order. */
  readonly abandoned: boolean;
}

/** Messages of a partition behind one that is not done. The metadata of an offset has room for as many. */
const mostAhead = 20_000;
/** Messages of a partition that wait for another attempt, or for one of their key that does: as many times the prefetch. */
const parkedFactor = 10;

/** The partitions of a consumer, with the deliveries that are under way in each. */
export class Assignment {
  readonly #partitions = new Map<number, Partition<KafkaDelivery>>();
  /** Partitions that may go to others soon: nothing is begun in them. */
  readonly #frozen = new Set<number>();
  readonly #parked = new Parked<KafkaDelivery>({
    keyOf: ({ record }) => record.key,
    bytesOf: ({ record }) => record.body.length,
    open: () => [...this.#partitions.values()].flatMap(({ open }) => open),
    counted: ({ partition, record }, by) => {
      partition.parked += by;
      partition.parkedBytes += by * record.body.length;
    },
    hasOwnLimits: true,
  });
  #open = 0;

  /** `unconfirmed` is told of messages that are done in partitions that are given up, and perhaps not committed. */
  constructor(
    /** The name of this process in the metadata of offsets. */
    private readonly owner: string,
    private readonly prefetch: number,
    private readonly lost: (delivery: KafkaDelivery) => void,
    private readonly unconfirmed: (identities: Iterable<string>) => void = () => {},
  ) {}

  get numbers(): number[] {
    return [...this.#partitions.keys()];
  }

  /** Deliveries without a result, except those that wait. */
  get unsettled(): number {
    return this.#open - this.#parked.size;
  }

  /** False if enough messages are under way. */
  get hasRoom(): boolean {
    return this.unsettled < this.prefetch;
  }

  /** True if a partition has enough messages, whatever the others have. */
  isFull(number: number): boolean {
    const { size = 0, parked = 0, parkedBytes = 0 } = this.#partitions.get(number) ?? {};
    // Each partition has an equal part of the bytes: one of them cannot hold up the others.
    const enough = parked >= this.prefetch * parkedFactor || parkedBytes * this.#partitions.size >= mostParkedBytes;
    return size >= mostAhead || enough || this.#frozen.has(number);
  }

  has(number: number): boolean {
    return this.#partitions.has(number);
  }

  /** Takes over further partitions, each at the offset of the group. */
  assign(starts: ReadonlyMap<number, Start>): void {
    for (const [number, { offset, progress, abandoned }] of starts) {
      const partition = new Partition<KafkaDelivery>(offset, progress);
      if (abandoned) {
        partition.suspects = this.prefetch;
        partition.trying = progress?.trying ?? null;
      }
      this.#partitions.set(number, partition);
    }
  }

  /** Gives up these partitions. `isMove`: they are read again from another offset. */
  drop(numbers: Iterable<number>, isMove = false): void {
    for (const number of numbers) {
      if (!isMove) this.#tellUnconfirmed(number);
      for (const delivery of this.#partitions.get(number)?.open ?? []) this.#lose(delivery);
      this.#partitions.delete(number);
      this.#frozen.delete(number);
    }
  }

  /** Nothing more can be committed. */
  end(): void {
    for (const number of this.#partitions.keys()) this.#tellUnconfirmed(number);
  }

  get frozen(): number[] {
    return [...this.#frozen];
  }

  isFrozen(number: number): boolean {
    return this.#frozen.has(number);
  }

  /** Begins nothing in these partitions. Their next owner is told that this one has left them in order. */
  freeze(numbers: Iterable<number>): void {
    for (const number of numbers) {
      this.#frozen.add(number);
      this.touch([number]);
    }
  }

  /** All partitions stay ours for now. */
  thaw(): void {
    this.touch(this.#frozen);
    this.#frozen.clear();
  }

  /** The offset of the next message to deliver; null for a partition that is not ours. */
  nextOf(number: number): bigint | null {
    return this.#partitions.get(number)?.next ?? null;
  }

  /** The partition of a message that has not been delivered yet; null for one that was, or is not ours. */
  expecting(number: number, offset: bigint): Partition<KafkaDelivery> | null {
    const partition = this.#partitions.get(number);
    return partition?.isNew(offset) ? partition : null;
  }

  /** True if the next message of the partition is handled alone. */
  isSuspect(number: number): boolean {
    return (this.#partitions.get(number)?.suspects ?? 0) > 0;
  }

  /** Handles no further messages alone. */
  trust(): void {
    for (const partition of this.#partitions.values()) partition.suspects = 0;
  }

  /** Begins a delivery. */
  add(delivery: KafkaDelivery): void {
    delivery.partition.add(delivery);
    this.#open++;
    this.#parked.add(delivery);
  }

  /** Delivers a message again that was given back. */
  addAgain(delivery: KafkaDelivery, before: KafkaDelivery): void {
    delivery.partition.replace(before, delivery);
    this.#open++;
  }

  /** The message waits for its next attempt. It and those of its key take up no room until it has its result. */
  wait(delivery: KafkaDelivery): void {
    if (this.isOpen(delivery)) this.#parked.wait(delivery);
  }

  /** True if the delivery has no result yet, in the partition as it was then. */
  isOpen(delivery: KafkaDelivery): boolean {
    return !delivery.over && this.#partitions.get(delivery.number) === delivery.partition;
  }

  /** Counts the result of a delivery. */
  settled(delivery: KafkaDelivery): void {
    this.#open--;
    this.#parked.settled(delivery);
    if (delivery.partition.trying?.offset === delivery.offset) delivery.partition.trying = null;
  }

  /** The message of the delivery is done. */
  done(delivery: KafkaDelivery): void {
    delivery.partition.done(delivery);
  }

  /** The last offset of these deliveries in each partition. Throws LOST if one of them is not ours any more. */
  lastOf(deliveries: readonly KafkaDelivery[]): Map<number, bigint> {
    const last = new Map<number, bigint>();
    for (const delivery of deliveries) {
      const { number, offset } = delivery;
      if (!this.isOpen(delivery)) throw lost();
      if (offset >= (last.get(number) ?? 0n)) last.set(number, offset);
    }
    return last;
  }

  /** False if a message before the last of these was given up without a result: the offset of the group would pass over it. */
  isGapless(deliveries: readonly KafkaDelivery[]): boolean {
    const chosen = new Map<Partition<KafkaDelivery>, Set<KafkaDelivery>>();
    for (const delivery of deliveries) {
      const others = chosen.get(delivery.partition);
      if (others === undefined) chosen.set(delivery.partition, new Set([delivery]));
      else others.add(delivery);
    }
    return [...chosen].every(([partition, entries]) => partition.isGapless(entries));
  }

  /** These deliveries are done, and their offsets committed. */
  committed(deliveries: readonly KafkaDelivery[]): void {
    for (const delivery of deliveries) {
      if (!this.isOpen(delivery)) continue;
      this.done(delivery);
      delivery.partition.takeCommittable(this.#ownerOf(delivery.number))?.confirmed?.();
      this.settled(delivery);
    }
  }

  /** Offsets of these partitions that have changed since the last call. */
  takeCommittable(all = false, numbers: Iterable<number> = this.#partitions.keys()): Map<number, GroupOffset> {
    const offsets = new Map<number, GroupOffset>();
    for (const number of numbers) {
      const offset = this.#partitions.get(number)?.takeCommittable(this.#ownerOf(number), all) ?? null;
      if (offset !== null) offsets.set(number, offset);
    }
    return offsets;
  }

  /** The offsets of these partitions are due, also if they have not moved. */
  touch(numbers: Iterable<number>): void {
    for (const number of numbers) this.#partitions.get(number)?.touch();
  }

  /** True if nothing that was delivered in the partition is left to commit. */
  isDone(number: number): boolean {
    return this.#partitions.get(number)?.size === 0;
  }

  #tellUnconfirmed(number: number): void {
    const done = this.#partitions.get(number)?.unconfirmed ?? [];
    if (done.length > 0) this.unconfirmed(done.map(({ offset, mark }) => identityOf(number, offset, mark)));
  }

  #ownerOf(number: number): string | null {
    return this.#frozen.has(number) ? null : this.owner;
  }

  #lose(delivery: KafkaDelivery): void {
    this.settled(delivery);
    this.lost(delivery);
  }
}
