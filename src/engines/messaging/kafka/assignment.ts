import type { KafkaDelivery } from "./kafka-delivery.js";
import { lost } from "./membership.js";
import { Partition } from "./partition.js";

/** The partitions of a consumer, with the deliveries that are under way in each. */
export class Assignment {
  readonly #partitions = new Map<number, Partition<KafkaDelivery>>();
  readonly #lost: (delivery: KafkaDelivery) => void;
  #unsettled = 0;
  #size = 0;

  constructor(lost: (delivery: KafkaDelivery) => void) {
    this.#lost = lost;
  }

  get numbers(): number[] {
    return [...this.#partitions.keys()];
  }

  /** Deliveries without a result. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /** Deliveries that are not committed: those without a result, and those that wait for one before them. */
  get size(): number {
    return this.#size;
  }

  /** Takes over the partitions that are ours now, each at the offset of the group, and gives up the others. */
  assign(numbers: ReadonlySet<number>, startOf: (number: number) => bigint): void {
    this.drop(this.numbers.filter((number) => !numbers.has(number)));
    for (const number of numbers) {
      const start = startOf(number);
      const partition = this.#partitions.get(number);
      if (partition === undefined) this.#partitions.set(number, new Partition(start));
      else for (const delivery of partition.startAt(start)) this.#lose(delivery);
    }
    this.#count();
  }

  /** Gives up these partitions. */
  drop(numbers: Iterable<number>): void {
    for (const number of numbers) {
      for (const delivery of this.#partitions.get(number)?.open ?? []) this.#lose(delivery);
      this.#partitions.delete(number);
    }
    this.#count();
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

  /** Begins a delivery. */
  add(delivery: KafkaDelivery): void {
    delivery.partition.add(delivery);
    this.#size++;
    this.#unsettled++;
  }

  /** Delivers a message again that was given back. */
  addAgain(delivery: KafkaDelivery, before: KafkaDelivery): void {
    delivery.partition.replace(before, delivery);
    this.#unsettled++;
  }

  /** True if the delivery has no result yet, in the partition as it was then. */
  isOpen(delivery: KafkaDelivery): boolean {
    return !delivery.over && this.#partitions.get(delivery.number) === delivery.partition;
  }

  /** Counts the result of a delivery. */
  settled(): void {
    this.#unsettled--;
  }

  /** The message of the delivery is done. */
  done(delivery: KafkaDelivery): void {
    this.#size -= delivery.partition.done(delivery);
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
    const chosen = new Map<Partition, Set<KafkaDelivery>>();
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
      delivery.partition.takeCommittable();
      this.#unsettled--;
    }
  }

  /** Offsets that have moved since the last call. */
  takeCommittable(): Map<number, bigint> {
    const offsets = new Map<number, bigint>();
    for (const [number, partition] of this.#partitions) {
      const offset = partition.takeCommittable();
      if (offset !== null) offsets.set(number, offset);
    }
    return offsets;
  }

  restore(offsets: ReadonlyMap<number, bigint>): void {
    for (const [number, offset] of offsets) this.#partitions.get(number)?.restore(offset);
  }

  /** True if nothing that was delivered in the partition is left to commit. */
  isDone(number: number): boolean {
    return this.#partitions.get(number)?.size === 0;
  }

  #count(): void {
    this.#size = 0;
    for (const partition of this.#partitions.values()) this.#size += partition.size;
  }

  #lose(delivery: KafkaDelivery): void {
    this.#unsettled--;
    this.#lost(delivery);
  }
}
