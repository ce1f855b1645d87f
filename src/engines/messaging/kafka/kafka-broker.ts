import type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  ConsumeRequest,
  DeliverySink,
  IncomingRecord,
  OutgoingRecord,
} from "../broker.js";
import type { MessagingError } from "../errors.js";
import { groupBy } from "../group-by.js";
import { sizeOf } from "../publish/publisher.js";
import { browseDeadLetters } from "./browse.js";
import { KafkaClients } from "./clients.js";
import { LogBrokerConfig, type LogBrokerOptions } from "./config.js";
import { KafkaConsumer } from "./kafka-consumer.js";
import { type KafkaLibrary, type KafkaProducer, loadKafka } from "./library.js";
import { messageOf } from "./records.js";

/** Bytes of one request to a topic. Brokers refuse batches of more than a megabyte by default. */
const requestBytes = 800_000;

/** Apache Kafka. */
export class KafkaBroker implements Broker {
  readonly name = "kafka";
  readonly abilities: BrokerAbilities;
  readonly defaultGroup: string;
  readonly defaultPrefetch: number;
  readonly #clients: KafkaClients;
  readonly #config: LogBrokerConfig;
  #producer: KafkaProducer | null = null;

  /** @internal */
  constructor(library: KafkaLibrary, config: LogBrokerConfig) {
    this.#config = config;
    this.#clients = new KafkaClients(library, config);
    this.defaultGroup = config.groupId;
    this.defaultPrefetch = config.prefetch;
    this.abilities = { delay: 0, broadcast: true, seek: true, maxBytes: config.maxBytes };
  }

  async open(): Promise<void> {
    await this.ping();
  }

  async ping(): Promise<void> {
    try {
      await this.#clients.admin.metadata({ topics: [], forceUpdate: true });
    } catch (error) {
      throw this.#clients.translate(error);
    }
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const outcomes = new Map<OutgoingRecord, MessagingError | null>();
    const topics = groupBy(records, ({ topic }) => topic);
    // A topic that fails does not concern the others.
    await Promise.all(
      [...topics].map(async ([topic, list]) => {
        let failure: MessagingError | null = await this.#ensure(topic);
        for (const request of requestsOf(list)) {
          // The rest of the topic waits for the next try too: otherwise it would overtake.
          failure ??= await this.#send(request);
          for (const record of request) outcomes.set(record, failure);
        }
      }),
    );
    return records.map((record) => outcomes.get(record) ?? null);
  }

  async consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    const { topic, deadLetterTopic } = request;
    await this.#clients.ensureTopics(deadLetterTopic === null ? [topic] : [topic, deadLetterTopic]);
    const consumer = new KafkaConsumer(this.#clients, request, sink);
    await consumer.open();
    return consumer;
  }

  async browse(
    topic: string,
    limit: number,
    visit: (record: IncomingRecord) => Promise<"keep" | "remove">,
  ): Promise<void> {
    await this.#clients.ensureTopics([topic]);
    try {
      await browseDeadLetters(this.#clients, this.#opened(), topic, limit, visit);
    } catch (error) {
      throw this.#clients.translate(error);
    }
  }

  async close(): Promise<void> {
    await this.#producer?.close().catch(() => {});
    this.#producer = null;
    await this.#clients.close();
  }

  async #ensure(topic: string): Promise<MessagingError | null> {
    try {
      await this.#clients.ensureTopics([topic]);
      return null;
    } catch (error) {
      return this.#clients.translate(error);
    }
  }

  async #send(records: readonly OutgoingRecord[]): Promise<MessagingError | null> {
    const producer = this.#opened();
    const { compression, idempotent } = this.#config;
    try {
      await producer.send({ messages: records.map(messageOf), acks: -1, compression, idempotent });
      return null;
    } catch (error) {
      // The sequence numbers of an idempotent producer are uncertain after an error: the next batch gets a new one.
      if (this.#producer === producer) this.#producer = null;
      producer.close().catch(() => {});
      return this.#clients.translate(error);
    }
  }

  #opened(): KafkaProducer {
    this.#producer ??= this.#clients.producer();
    return this.#producer;
  }
}

/** Makes a broker that is not connected yet. */
export async function createKafkaBroker(config?: LogBrokerConfig | LogBrokerOptions | null): Promise<KafkaBroker> {
  return new KafkaBroker(await loadKafka(), LogBrokerConfig.from(config));
}

function* requestsOf(records: readonly OutgoingRecord[]): Generator<OutgoingRecord[]> {
  let request: OutgoingRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = sizeOf(record) + 100;
    if (request.length > 0 && bytes + size > requestBytes) {
      yield request;
      request = [];
      bytes = 0;
    }
    request.push(record);
    bytes += size;
  }
  if (request.length > 0) yield request;
}
