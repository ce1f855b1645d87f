import { type OptionsOf, option, options } from "../../kit/config.js";
import { type Broker, isBrokerName, type OutgoingRecord } from "./broker.js";
import { MessagingError } from "./errors.js";
import {
  type BatchEntry,
  outgoing,
  type Published,
  type PublishedValue,
  type PublishOptions,
} from "./publish/outgoing.js";
import { refuseTooLarge } from "./publish/size.js";
import { asTopic, type Topic } from "./topic.js";

/** Bounds of one transaction: it is held in memory until it is committed. */
const mostMessages = 10_000;
const mostBytes = 16 * 1024 * 1024;

export const transactionOptions = options("transaction()", {
  /** The broker, where the application has several that have transactions. */
  broker: option(isBrokerName),
});

export interface MessageTransactionOptions extends OptionsOf<typeof transactionOptions.fields> {}

let take: (transaction: MessageTransaction) => readonly OutgoingRecord[];

/** The messages of a transaction; no others can be added. */
export function recordsOf(transaction: MessageTransaction): readonly OutgoingRecord[] {
  return take(transaction);
}

/** Collects messages that are published together, or not at all. */
export class MessageTransaction {
  readonly #broker: Broker;
  readonly #records: OutgoingRecord[] = [];
  #pending = 0;
  #bytes = 0;
  #closed = false;

  static {
    take = (transaction) => {
      transaction.#closed = true;
      if (transaction.#pending > 0) {
        throw new MessagingError("CLOSED", "the transaction ended before its publishes: wait for each of them");
      }
      return transaction.#records;
    };
  }

  /** @internal */
  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Adds a message to the transaction. It is published when the transaction is committed. */
  async publish<const T extends Topic<never, unknown> | string>(
    topic: T,
    value: PublishedValue<T>,
    options?: PublishOptions,
  ): Promise<Published> {
    const declared = asTopic(topic);
    const { name } = this.#broker;
    if (declared.broker !== null && declared.broker !== name) {
      throw new MessagingError(
        "UNSUPPORTED",
        `the topic '${declared.name}' is not one of ${name}, as the transaction is`,
      );
    }
    this.#check();
    this.#pending++;
    try {
      const record = await outgoing(declared, value, options, null);
      this.#check();
      this.#add(record);
      return { id: record.id };
    } finally {
      this.#pending--;
    }
  }

  /** Adds messages to the transaction, in this order. */
  async publishBatch<const T extends Topic<never, unknown> | string>(
    topic: T,
    entries: readonly BatchEntry<PublishedValue<T>>[],
  ): Promise<Published[]> {
    const published: Published[] = [];
    for (const { value, ...options } of entries) published.push(await this.publish(topic, value, options));
    return published;
  }

  #check(): void {
    if (this.#closed) throw new MessagingError("CLOSED", "the transaction has ended");
  }

  #add(record: OutgoingRecord): void {
    const size = refuseTooLarge(record, this.#broker);
    if (record.delayMs > 0) throw new MessagingError("UNSUPPORTED", "a message of a transaction cannot be delayed");
    if (this.#records.length >= mostMessages || this.#bytes + size > mostBytes) {
      throw new MessagingError("BUSY", `a transaction has at most ${mostMessages} messages and ${mostBytes} bytes`);
    }
    this.#records.push(record);
    this.#bytes += size;
  }
}

/** An error that says what to do on a broker without transactions. */
export function transactional(broker: Broker): NonNullable<Broker["transact"]> {
  if (broker.transact !== undefined) return broker.transact.bind(broker);
  throw new MessagingError("UNSUPPORTED", `the ${broker.name} broker has no transactions: use the outbox, or Kafka`);
}
