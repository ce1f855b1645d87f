import type { BrokerConsumer, ConsumeRequest, Delivery, DeliverySink, SeekTarget } from "../broker.js";
import { MessagingError } from "../errors.js";
import { Parked } from "../parked.js";
import type { GroupMember, MemoryGroup, StoredRecord } from "./memory-group.js";
import type { MemoryHub } from "./memory-hub.js";

/** A consumer of a memory broker. */
export class MemoryConsumer implements BrokerConsumer, GroupMember {
  readonly #hub: MemoryHub;
  readonly #group: MemoryGroup;
  readonly #request: ConsumeRequest;
  readonly #sink: DeliverySink;
  readonly #unsettled = new Map<Delivery, StoredRecord>();
  readonly #parked = new Parked<Delivery>({
    keyOf: ({ record }) => record.key,
    bytesOf: ({ record }) => record.body.length,
    open: () => this.#unsettled.keys(),
  });
  #paused = false;
  #ended = false;

  constructor(hub: MemoryHub, request: ConsumeRequest, sink: DeliverySink) {
    this.#hub = hub;
    this.#group = hub.group(request.topic, request.group, request.from);
    this.#request = request;
    this.#sink = sink;
    this.#group.join(this);
  }

  get unsettled(): number {
    return this.#unsettled.size;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get hasRoom(): boolean {
    return !this.#paused && !this.#ended && this.#unsettled.size - this.#parked.size < this.#request.prefetch;
  }

  deliver(record: StoredRecord, earlier: number): void {
    const settle = async (then: () => void): Promise<void> => {
      this.#hub.check();
      if (!this.#unsettled.delete(delivery)) throw new MessagingError("LOST", "the delivery is settled or lost");
      this.#parked.settled(delivery);
      this.#group.free(record.key, this);
      then();
      this.#group.schedule();
    };
    const delivery: Delivery = {
      record,
      earlier,
      ack: () => settle(() => {}),
      release: () => settle(() => this.#group.add(record, earlier)),
      wait: () => {
        if (!this.#unsettled.has(delivery)) return;
        this.#parked.wait(delivery);
        this.#group.schedule();
      },
      retry: (headers, delayMs) => settle(() => this.#group.later({ ...record, headers }, delayMs)),
    };
    this.#unsettled.set(delivery, record);
    this.#parked.add(delivery);
    this.#sink.deliver(delivery);
  }

  /** True if the delivery is under way here. */
  holds(delivery: Delivery): boolean {
    return this.#unsettled.has(delivery);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#group.schedule();
  }

  async stop(): Promise<void> {
    this.#ended = true;
  }

  async close(): Promise<void> {
    this.#ended = true;
    this.#giveBack();
    this.#group.leave(this);
    if (this.#request.broadcast) this.#hub.forget(this.#request.topic, this.#request.group);
  }

  async lag(): Promise<number> {
    return this.#group.waiting + this.#group.unsettled;
  }

  async seek(to: SeekTarget): Promise<void> {
    if (typeof to === "object" && !(to instanceof Date)) {
      throw new MessagingError("UNSUPPORTED", "the memory broker has no partitions to seek in");
    }
    this.#hub.rewind(this.#request.topic, this.#request.group, to);
  }

  /** The connection breaks: unsettled records go to others, and count as delivered. */
  fail(error: MessagingError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#giveBack(1);
    this.#group.leave(this);
    this.#sink.failed(error);
  }

  loseAll(): void {
    for (const delivery of this.#unsettled.keys()) this.#sink.lost(delivery);
    this.#unsettled.clear();
    this.#parked.clear();
  }

  #giveBack(more = 0): void {
    const unsettled = [...this.#unsettled];
    this.#unsettled.clear();
    this.#parked.clear();
    for (const [delivery, record] of unsettled) {
      this.#group.free(record.key, this);
      this.#group.add(record, delivery.earlier + more);
    }
  }
}
