import { Doorbell } from "../../durable/doorbell.js";
import { newOwner, pulseOf } from "../../durable/pulse.js";
import { installTables } from "../../durable/tables.js";
import type { Database, Queries } from "../../engines/db/database.js";
import type { BrokerName } from "../../engines/messaging/broker.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import type { Published } from "../../engines/messaging/publish/outgoing.js";
import { readEntries } from "../../engines/messaging/publish/publish.js";
import { asTopic } from "../../engines/messaging/topic.js";
import type { Logger } from "../../kit/logger.js";
import { milliseconds } from "../../kit/time/duration.js";
import { OutboxAdmin } from "./admin.js";
import type { OutboxSettings } from "./options.js";
import { Relay } from "./relay.js";
import { OutboxStorage } from "./storage.js";
import { outboxTables } from "./tables.js";

/** The outbox of one process: stores messages with a transaction, and publishes them if it is its turn. */
export class OutboxEngine {
  readonly storage: OutboxStorage;
  readonly admin: OutboxAdmin;
  readonly #doorbell: Doorbell;
  readonly #owner = newOwner();
  readonly #relays: Relay[] = [];
  #leave: (() => Promise<void>) | null = null;

  constructor(
    readonly db: Database,
    readonly messaging: Messaging,
    readonly settings: OutboxSettings,
    readonly logger: Logger,
  ) {
    this.storage = new OutboxStorage(db, settings.schema);
    this.#doorbell = new Doorbell(db, `${settings.schema}_outbox`, logger);
    this.admin = new OutboxAdmin(db, this.storage, () => this.#doorbell.ring());
  }

  async open(): Promise<void> {
    await installTables(this.db, this.settings.schema, outboxTables);
  }

  /** Begins to publish. */
  async start(): Promise<void> {
    if (!this.settings.relay) return;
    await this.#doorbell.open();
    const { schema } = this.settings;
    const leaseMs = milliseconds(this.settings.lease);
    const running = (): string[] => this.active.map((broker) => `the outbox of ${broker}`);
    this.#leave = await pulseOf(this.db, this.logger).join({ schema, leaseMs, owner: this.#owner, running });
    for (const broker of this.messaging.brokers) this.#add(broker);
  }

  async publish(topic: unknown, value: unknown, options: unknown, within: Queries): Promise<Published> {
    const { broker, record } = await this.messaging.recordOf(asTopic(topic as string), value, options);
    await this.storage.insert(broker.name, [record], within);
    this.#doorbell.ringAfter(within);
    return { id: record.id };
  }

  async publishBatch(topic: unknown, entries: unknown, within: Queries): Promise<Published[]> {
    const given = readEntries(entries);
    const declared = asTopic(topic as string);
    const found = await Promise.all(
      given.map(({ value, options }) => this.messaging.recordOf(declared, value, options)),
    );
    const records = found.map(({ record }) => record);
    if (records.length === 0) return [];
    await this.storage.insert(found[0]!.broker.name, records, within);
    this.#doorbell.ringAfter(within);
    return records.map(({ id }) => ({ id }));
  }

  /** The brokers for which this process publishes now. */
  get active(): readonly BrokerName[] {
    return this.messaging.brokers.filter((_, index) => this.#relays[index]?.active);
  }

  async drain(): Promise<void> {
    await Promise.all(this.#relays.map((relay) => relay.drain()));
  }

  async close(): Promise<void> {
    // A start that fails is closed without a drain.
    await this.drain();
    await this.#leave?.();
    await this.#doorbell.close();
  }

  #add(broker: BrokerName): void {
    const { storage, messaging, settings, logger } = this;
    const relay = new Relay({ broker, storage, owner: this.#owner, messaging, settings, logger });
    this.#relays.push(relay);
    this.#doorbell.onRing(relay.wake);
  }
}
