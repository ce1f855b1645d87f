import { milliseconds } from "../../../kit/time/duration.js";
import { sleep } from "../../../kit/time/within.js";
import type {
  Broker,
  BrokerAbilities,
  BrokerConsumer,
  BrowseVisitor,
  ConsumeRequest,
  Delivery,
  DeliverySink,
  OutgoingRecord,
  TopicWatcher,
} from "../broker.js";
import { MessagingError } from "../errors.js";
import { groupBy } from "../group-by.js";
import { browseDeadLetters } from "./browse.js";
import { KafkaClients } from "./clients.js";
import { LogBrokerConfig, type LogBrokerOptions } from "./config.js";
import { KafkaConsumer } from "./kafka-consumer.js";
import { type KafkaLibrary, type KafkaOutgoing, type KafkaProduced, type KafkaProducer, loadKafka } from "./library.js";
import { messageOf, placeAttributes } from "./records.js";
import { requestsOf } from "./requests-of.js";
import { KafkaTransactions } from "./transactions.js";
import { isCoordinatorAway, refusedPartitions } from "./translate-error.js";

/** Tries to enter a group whose broker is not ready, and milliseconds between them. With those of the library: 9 seconds. */
const mostOpenings = 6;
const openingPause = 500;

/** Apache Kafka. */
export class KafkaBroker implements Broker {
  readonly name = "kafka";
  readonly abilities: BrokerAbilities;
  readonly defaultGroup: string;
  readonly defaultPrefetch: number;
  readonly boundsPrefetch: boolean;
  readonly #clients: KafkaClients;
  readonly #config: LogBrokerConfig;
  readonly #transactions: KafkaTransactions;
  /** The requests that are under way, by topic. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #producer: KafkaProducer | null = null;

  /** @internal */
  constructor(library: KafkaLibrary, config: LogBrokerConfig, application?: string) {
    this.#config = config;
    this.#clients = new KafkaClients(library, config);
    this.#transactions = new KafkaTransactions(this.#clients);
    this.defaultGroup = config.given.groupId ?? application ?? config.groupId;
    this.defaultPrefetch = config.prefetch;
    this.boundsPrefetch = config.given.prefetch !== undefined;
    this.abilities = { maxDelayMs: 0, broadcast: true, seek: true, maxBytes: config.maxBytes };
  }

  async open(): Promise<void> {
    await this.#clients.translated(() => this.#clients.probe.metadata({ topics: [], forceUpdate: true }));
  }

  async ping(): Promise<void> {
    await this.#clients.translated(() => this.#clients.admin.metadata({ topics: [], forceUpdate: true }));
  }

  async publish(
    records: readonly OutgoingRecord[],
    { ordered = false }: { readonly ordered?: boolean } = {},
  ): Promise<readonly (MessagingError | null)[]> {
    const outcomes = new Map<OutgoingRecord, MessagingError | null>();
    const topics = groupBy(records, ({ topic }) => topic);
    // A topic that fails does not concern the others.
    await Promise.all(
      [...topics].map(async ([topic, list]) => {
        const mayCreate = list.some(({ direct }) => direct !== true);
        let failure: MessagingError | null = await this.#ensure(topic, mayCreate);
        /** Keys with a record that is too large. */
        const refused = new Set<string>();
        const send = async (given: readonly OutgoingRecord[]): Promise<void> => {
          const isBehind = ({ key }: OutgoingRecord) => ordered && key !== null && refused.has(key);
          const request = given.filter((record) => !isBehind(record));
          for (const record of given.filter(isBehind)) outcomes.set(record, behindRefused());
          if (request.length === 0) return;
          // The rest of the topic waits for the next try too: otherwise it would overtake.
          const messages = request.map(messageOf);
          const outcome = failure ?? (await this.#send(topic, messages, request));
          // A record that is too large fails no others, except those of its key if their order counts.
          if (outcome?.code !== "TOO_LARGE") failure = outcome;
          else if (request.length > 1) {
            const stored = await this.#storedAllTheSame(topic, messages, outcome);
            for (const [index, record] of request.entries())
              if (stored(messages[index]!)) outcomes.set(record, null);
              else await send([record]);
          } else if (request[0]!.key !== null) refused.add(request[0]!.key);
          for (const record of request) if (!outcomes.has(record)) outcomes.set(record, outcome);
        };
        for (const request of requestsOf(list)) await send(request);
      }),
    );
    return records.map((record) => outcomes.get(record) ?? null);
  }

  async transact(records: readonly OutgoingRecord[], deliveries: readonly Delivery[]): Promise<void> {
    await this.#clients.translated(() => this.#transactions.run(records, deliveries));
  }

  async consume(request: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    const { topic, deadLetterTopic, mustExist } = request;
    await this.#clients.ensureTopics([topic], mustExist !== true);
    if (deadLetterTopic !== null) await this.#clients.ensureTopics([deadLetterTopic]);
    for (let tries = 1; ; tries++) {
      // A new one for each try: the client of the library always asks the same broker.
      const consumer = new KafkaConsumer(this.#clients, request, sink);
      try {
        await consumer.open();
        return consumer;
      } catch (error) {
        if (tries === mostOpenings || !isCoordinatorAway(error)) throw error;
        await sleep(openingPause);
      }
    }
  }

  async watchTopics({ found, failed }: TopicWatcher): Promise<() => void> {
    const ended = new AbortController();
    const look = async () => {
      const names = await this.#clients.topics();
      if (!ended.signal.aborted) found(names);
    };
    const repeat = async () => {
      for (;;) {
        await sleep(milliseconds(this.#config.patternInterval), ended.signal);
        if (ended.signal.aborted) return;
        await look().catch(failed);
      }
    };
    await look();
    void repeat();
    return () => ended.abort();
  }

  async browse(topic: string, limit: number, visit: BrowseVisitor): Promise<void> {
    await this.#clients.ensureTopics([topic]);
    const send = async (message: KafkaOutgoing): Promise<void> => {
      const failure = await this.#send(topic, [message]);
      if (failure !== null) throw failure;
    };
    await this.#clients.translated(() => browseDeadLetters(this.#clients, topic, limit, visit, send));
  }

  async close(): Promise<void> {
    await this.#producer?.close().catch(() => {});
    this.#producer = null;
    await this.#transactions.close();
    await this.#clients.close();
  }

  #ensure(topic: string, mayCreate: boolean): Promise<MessagingError | null> {
    return this.#clients.ensureTopics([topic], mayCreate).then(
      () => null,
      (error: unknown) => this.#clients.translate(error),
    );
  }

  /**
   * One request to a topic at a time. Two at once would have the same sequence numbers, since the client counts them when a
   * request succeeds, and the broker would drop the second as a repetition of the first.
   */
  #send(
    topic: string,
    messages: readonly KafkaOutgoing[],
    records: readonly OutgoingRecord[] = [],
  ): Promise<MessagingError | null> {
    const before = this.#turns.get(topic) ?? Promise.resolve();
    const turn = before.then(() => this.#sendNow(topic, messages, records));
    this.#turns.set(topic, turn);
    void turn.then(() => {
      if (this.#turns.get(topic) === turn) this.#turns.delete(topic);
    });
    return turn;
  }

  async #sendNow(
    topic: string,
    messages: readonly KafkaOutgoing[],
    records: readonly OutgoingRecord[],
  ): Promise<MessagingError | null> {
    const producer = this.#opened();
    const { compression, idempotent } = this.#config;
    try {
      const produced = await producer.send({ messages, acks: -1, compression, idempotent });
      if (records.some(({ placed }) => placed !== undefined))
        await tellPlaces(producer, topic, messages, records, produced);
      return null;
    } catch (error) {
      // The sequence numbers of an idempotent producer are uncertain after an error: the next batch gets a new one.
      if (this.#producer === producer) this.#producer = null;
      producer.close().catch(() => {});
      return this.#clients.translate(error);
    }
  }

  /** Tells which messages of a request the broker has stored although it refused others: those of other partitions. */
  async #storedAllTheSame(
    topic: string,
    messages: readonly KafkaOutgoing[],
    { cause }: MessagingError,
  ): Promise<(message: KafkaOutgoing) => boolean> {
    const refused = refusedPartitions(cause);
    const count = refused && (await partitionsOf(this.#opened(), topic));
    if (!refused || !count || messages.some(({ drawn }) => drawn === undefined)) return () => false;
    return ({ drawn }) => !refused.has(drawn! % count);
  }

  #opened(): KafkaProducer {
    this.#producer ??= this.#clients.producer();
    return this.#producer;
  }
}

/** Tells each record its partition and its offset: those of a request to one partition follow each other. */
async function tellPlaces(
  producer: KafkaProducer,
  topic: string,
  messages: readonly KafkaOutgoing[],
  records: readonly OutgoingRecord[],
  { offsets = [] }: KafkaProduced,
): Promise<void> {
  // From the memory of the client, which has just used it.
  const count = (await partitionsOf(producer, topic)) ?? 1;
  const next = new Map(offsets.map(({ partition, offset }) => [partition, offset]));
  for (const [index, { drawn = 0 }] of messages.entries()) {
    const offset = next.get(drawn % count);
    // Below 0 for a batch that the broker had already, and has forgotten the place of.
    if (offset === undefined || offset < 0n) continue;
    next.set(drawn % count, offset + 1n);
    records[index]!.placed?.(placeAttributes(drawn % count, offset));
  }
}

async function partitionsOf(producer: KafkaProducer, topic: string): Promise<number | undefined> {
  const metadata = await producer.metadata({ topics: [topic] }).catch(() => null);
  return metadata?.topics.get(topic)?.partitionsCount;
}

function behindRefused(): MessagingError {
  return new MessagingError("REFUSED", "an earlier message of the same key was refused");
}

/** Makes a broker that is not connected yet. The application's name is the group of consumers, unless one is given. */
export async function createKafkaBroker(
  config?: LogBrokerConfig | LogBrokerOptions | null,
  application?: string,
): Promise<KafkaBroker> {
  return new KafkaBroker(await loadKafka(), LogBrokerConfig.from([config]), application);
}
