import type { OutgoingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { type GroupMember, MemoryGroup, type StoredRecord } from "./memory-group.js";

interface StoredTopic {
  records: StoredRecord[];
  next: number;
  readonly groups: Map<string, MemoryGroup>;
}

/**
 * The broker that memory brokers connect to: several can share one, as processes share a server. It keeps the last records
 * of each topic, as a log broker does; each group has its own queue, as a queue broker does.
 */
export class MemoryHub {
  readonly #topics = new Map<string, StoredTopic>();
  readonly #watchers = new Set<(names: readonly string[]) => void>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #retain: number;
  #down = false;

  /** @param retain the records of each topic that are kept */
  constructor(retain = 10_000) {
    this.#retain = retain;
  }

  get topics(): readonly string[] {
    return [...this.#topics.keys()];
  }

  /** Throws while the hub is stopped. */
  check(): void {
    if (this.#down) throw new MessagingError("UNREACHABLE", "the memory broker is stopped");
  }

  append(record: OutgoingRecord): void {
    this.check();
    if (record.direct && !this.#topics.has(record.topic))
      throw new MessagingError("UNKNOWN_TOPIC", `no request waits for replies at '${record.topic}'`);
    this.topic(record.topic);
    if (record.delayMs > 0) this.#later(record.delayMs, () => this.#append(record));
    else this.#append(record);
  }

  topic(name: string): StoredTopic {
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      this.#topics.set(name, (topic = { records: [], next: 0, groups: new Map() }));
      for (const found of this.#watchers) found(this.topics);
    }
    return topic;
  }

  /** Tells of all topics, now and with each new one, until the function that it returns is called. */
  watch(found: (names: readonly string[]) => void): () => void {
    this.#watchers.add(found);
    found(this.topics);
    return () => void this.#watchers.delete(found);
  }

  /** The records of a topic that are kept, oldest first. */
  records(name: string): readonly StoredRecord[] {
    return this.#topics.get(name)?.records ?? [];
  }

  remove(name: string, offset: number): void {
    const topic = this.topic(name);
    topic.records = topic.records.filter((record) => record.offset !== offset);
  }

  group(name: string, groupName: string, from: "start" | "end"): MemoryGroup {
    this.check();
    const topic = this.topic(name);
    let group = topic.groups.get(groupName);
    if (group === undefined) {
      topic.groups.set(groupName, (group = new MemoryGroup((delayMs, run) => this.#later(delayMs, run))));
      if (from === "start") for (const record of topic.records) group.add(record);
    }
    return group;
  }

  /** Ends a group that belonged to one process. */
  forget(name: string, groupName: string): void {
    this.#topics.get(name)?.groups.delete(groupName);
  }

  /** Fills the queue of a group again. */
  rewind(name: string, groupName: string, to: "start" | "end" | Date): void {
    const topic = this.topic(name);
    const group = topic.groups.get(groupName);
    if (group === undefined) return;
    const since = to instanceof Date ? to.getTime() : to === "start" ? -Infinity : Infinity;
    group.refill(topic.records.filter(({ timestamp }) => timestamp >= since));
  }

  /** Breaks all connections, as a server that is stopped: for tests of faults. */
  stop(): void {
    this.#down = true;
    const error = new MessagingError("UNREACHABLE", "the memory broker is stopped");
    for (const consumer of this.#consumers()) consumer.fail(error);
  }

  /** Accepts connections again. Records and queues are as they were. */
  start(): void {
    this.#down = false;
  }

  /** True if nothing waits, nothing is being handled, and nothing will come later. */
  get idle(): boolean {
    if (this.#timers.size > 0) return false;
    const groups = [...this.#topics.values()].flatMap((topic) => [...topic.groups.values()]);
    return groups.every((group) => group.consumers.length === 0 || group.waiting + group.unsettled === 0);
  }

  /** Forgets everything. */
  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    for (const topic of this.#topics.values()) {
      topic.records = [];
      for (const group of topic.groups.values()) group.refill([]);
    }
  }

  #append(record: OutgoingRecord): void {
    const topic = this.topic(record.topic);
    const { delayMs: _delay, ...rest } = record;
    // Publishers may use their buffer again.
    const stored: StoredRecord = { ...rest, body: record.body.slice(), offset: topic.next++ };
    topic.records.push(stored);
    if (topic.records.length > this.#retain * 1.1) topic.records = topic.records.slice(-this.#retain);
    for (const group of topic.groups.values()) group.add(stored);
  }

  #later(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    timer.unref();
    this.#timers.add(timer);
  }

  #consumers(): GroupMember[] {
    return [...this.#topics.values()].flatMap(({ groups }) => [...groups.values()].flatMap((group) => group.consumers));
  }
}
