import { type OptionsOf, option, options } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import {
  type Broker,
  type BrokerAbilities,
  type BrokerConsumer,
  type BrokerName,
  type BrowseVisitor,
  type ConsumeRequest,
  type Delivery,
  type DeliverySink,
  isBrokerName,
  type OutgoingRecord,
  type TopicWatcher,
} from "../broker.js";
import { asMessagingError, MessagingError } from "../errors.js";
import { MemoryConsumer } from "./memory-consumer.js";
import { MemoryHub } from "./memory-hub.js";

const brokerOptions = options("MemoryBroker", {
  /** The hub to connect to; several brokers can share one. Default: a new one. */
  hub: option<MemoryHub>(is.object),
  /** The broker that it stands for. Default "memory". */
  name: option(isBrokerName, "memory"),
  /** The group of consumers that name none. Default "stoa". */
  groupId: option(is.text, "stoa"),
  /** The largest message in bytes. Default 1 MiB. */
  maxBytes: option(is.limit(1), 1024 * 1024, "1 MiB"),
});

export interface MemoryBrokerOptions extends OptionsOf<typeof brokerOptions.fields> {}

const year = 31_536_000_000;

/** A broker in the memory of the process, for development and tests. Its messages end with the process. */
export class MemoryBroker implements Broker {
  readonly name: BrokerName;
  readonly abilities: BrokerAbilities;
  readonly defaultGroup: string;
  readonly hub: MemoryHub;
  readonly #consumers = new Set<MemoryConsumer>();
  #open = false;

  constructor(options?: MemoryBrokerOptions) {
    const { hub = new MemoryHub(), name, groupId, maxBytes } = brokerOptions.read([options]);
    this.hub = hub;
    this.name = name;
    this.defaultGroup = groupId;
    // Timers of Node cannot wait longer than 24 days.
    this.abilities = { maxDelayMs: Math.min(year, 2_147_483_647), broadcast: true, seek: true, maxBytes };
  }

  async open(): Promise<void> {
    this.hub.check();
    this.#open = true;
  }

  async ping(): Promise<void> {
    this.#check();
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    this.#check();
    return records.map((record) => {
      try {
        this.hub.append(record);
        return null;
      } catch (error) {
        return asMessagingError(error);
      }
    });
  }

  async transact(records: readonly OutgoingRecord[], deliveries: readonly Delivery[]): Promise<void> {
    this.#check();
    // Nothing can come between: the whole runs in one turn.
    const lost = deliveries.some((delivery) => ![...this.#consumers].some((consumer) => consumer.holds(delivery)));
    if (lost) throw new MessagingError("LOST", "a delivery of the transaction is settled or lost");
    for (const record of records) this.hub.append(record);
    await Promise.all(deliveries.map((delivery) => delivery.ack()));
  }

  async consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    this.#check();
    if (request.deadLetterTopic !== null) this.hub.topic(request.deadLetterTopic);
    for (const old of this.#consumers) if (old.ended) this.#consumers.delete(old);
    const consumer = new MemoryConsumer(this.hub, request, sink);
    this.#consumers.add(consumer);
    return consumer;
  }

  async watchTopics(watcher: TopicWatcher): Promise<() => void> {
    this.#check();
    return this.hub.watch((names) => watcher.found(names));
  }

  async browse(topic: string, limit: number, visit: BrowseVisitor): Promise<void> {
    this.#check();
    for (const record of this.hub.records(topic).slice(0, limit)) {
      if ((await visit(record)) === "remove") this.hub.remove(topic, record.offset);
    }
  }

  async close(): Promise<void> {
    this.#open = false;
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
    this.#consumers.clear();
  }

  #check(): void {
    if (!this.#open) throw new MessagingError("CLOSED", "the memory broker is not open");
    this.hub.check();
  }
}
