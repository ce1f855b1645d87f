import { randomUUID } from "node:crypto";
import { milliseconds } from "../../../kit/time/duration.js";
import type { ConsumeRequest } from "../broker.js";
import { MessagingError } from "../errors.js";
import type { LogBrokerConfig } from "./config.js";
import { FetchClient } from "./fetch/fetch-client.js";
import { type Decoders, type Unpack, unpacker } from "./fetch/unpack.js";
import { UnpackThread } from "./fetch/unpack-thread.js";
import type { Joining } from "./group/joining.js";
import type {
  KafkaAdmin,
  KafkaClientConsumer,
  KafkaConnectionPool,
  KafkaLibrary,
  KafkaMetadata,
  KafkaOutgoing,
  KafkaProducer,
} from "./library.js";
import { kafkaError } from "./translate-error.js";

const noop = (value: Buffer | undefined) => value;
const bytes = (value: string | undefined) => (value === undefined ? undefined : Buffer.from(value));
/** The bytes of names of headers, and of the usual type. A program has few of them, and each message has several. */
const usual = new Map<string, Buffer>([["application/json", Buffer.from("application/json")]]);
const mostUsual = 500;
/** Milliseconds that a broker has to respond when the time for members to join is over. That of Java's clients. */
const joinMargin = 5000;

function nameBytes(name: string | undefined): Buffer | undefined {
  if (name === undefined) return undefined;
  let found = usual.get(name);
  if (found === undefined) {
    found = Buffer.from(name);
    if (usual.size < mostUsual) usual.set(name, found);
  }
  return found;
}

const headerBytes = (value: string | undefined) =>
  value === undefined ? undefined : (usual.get(value) ?? Buffer.from(value));

/** Makes the clients of the library, with one set of settings. */
export class KafkaClients {
  readonly #library: KafkaLibrary;
  readonly #config: LogBrokerConfig;
  /** The name of this program in the metadata of the offsets that it commits. */
  readonly owner: string = randomUUID();
  readonly #known = new Set<string>();
  /** Names of static members that are in use, by their groups. */
  readonly #instances = new Set<string>();
  readonly #thread = new UnpackThread();
  /** Unpacks the records of batches, up to the limit of the configuration. */
  readonly unpack: Unpack;
  #admin: KafkaAdmin | null = null;
  #probe: KafkaAdmin | null = null;

  constructor(library: KafkaLibrary, config: LogBrokerConfig) {
    this.#library = library;
    this.#config = config;
    const { snappy, lz4 } = library.compressionsAlgorithms;
    const beside: Decoders["beside"] = (...request) => this.#thread.unpack(...request);
    const decoders = { snappy: snappy.decompressSync, lz4: lz4.decompressSync, zstd: library.fzstd, beside };
    this.unpack = unpacker(decoders, config.maxBatchBytes);
  }

  /** The CRC-32C of bytes. */
  get checksum(): (data: Buffer) => number {
    return this.#library.crc32c;
  }

  get config(): LogBrokerConfig {
    return this.#config;
  }

  get admin(): KafkaAdmin {
    if (this.#admin === null) {
      this.#admin = new this.#library.Admin(this.#base());
      this.#admin.on("error", () => {});
    }
    return this.#admin;
  }

  /**
   * Asks once: the others would ask three times more for a topic that does not exist, and wait half a minute each time for a
   * broker that accepts connections and is silent.
   */
  get probe(): KafkaAdmin {
    if (this.#probe === null) {
      const requestTimeout = 2 * milliseconds(this.#config.connectTimeout);
      this.#probe = new this.#library.Admin({ ...this.#base(), retries: 0, requestTimeout });
      this.#probe.on("error", () => {});
    }
    return this.#probe;
  }

  /** A producer; with an id one of transactions. */
  producer(transactionalId?: string): KafkaProducer {
    const serializers = { key: bytes, value: noop, headerKey: nameBytes, headerValue: headerBytes };
    const { idempotent, transactionTimeout } = this.#config;
    const producer = new this.#library.Producer({
      ...this.#base(),
      serializers,
      partitioner: this.#partitioner(),
      ...(transactionalId === undefined
        ? { idempotent }
        : { idempotent: true, transactionalId, timeout: milliseconds(transactionTimeout) }),
    });
    producer.on("error", () => {});
    return producer;
  }

  /**
   * That of Java, and of librdkafka with `partitioner=murmur2_random`: a key is in the same partition whichever program publishes it. The
   * default of the library differs for half of the keys. Messages without a key go to all partitions in turn.
   */
  #partitioner(): (message: KafkaOutgoing, key: Buffer | undefined) => number {
    const { compatibilityPartitioner } = this.#library;
    let next = 0;
    return (message, key) => {
      if (key === undefined) next = (next + 1) % 1_000_000_000;
      message.drawn = key === undefined ? next : compatibilityPartitioner(message, key);
      return message.drawn;
    };
  }

  /** A consumer, with `joining` one that can join its group. */
  consumer(groupId: string, joining?: Joining, groupInstanceId: string | null = null): KafkaClientConsumer {
    const sessionTimeout = milliseconds(this.#config.sessionTimeout);
    const rebalanceTimeout = Math.max(sessionTimeout, 60_000);
    const consumer = new this.#library.Consumer({
      ...this.#base(),
      groupId,
      ...(groupInstanceId !== null && { groupInstanceId }),
      autocommit: false,
      sessionTimeout,
      rebalanceTimeout,
      heartbeatInterval: Math.min(3000, Math.floor(sessionTimeout / 10)),
      partitionAssigner: (_current: string, _members: unknown, _topics: unknown, metadata: KafkaMetadata) =>
        joining?.share(metadata),
    });
    const patience = rebalanceTimeout + joinMargin;
    joining?.attach(this.#library, consumer, this.connectionPool(patience), patience, groupInstanceId !== null);
    return consumer;
  }

  /**
   * The name of a consumer as a static member (KIP-345), which its topic has after a start too; null without one. Each consumer
   * is a member, so a second one of a topic has another name.
   */
  takeInstance({ topic, group, broadcast }: ConsumeRequest): { readonly id: string; free(): void } | null {
    const { groupInstanceId } = this.#config;
    if (groupInstanceId === undefined || broadcast) return null;
    for (let n = 1; ; n++) {
      const id = `${groupInstanceId}-${topic}${n === 1 ? "" : `-${n}`}`;
      const key = `${group}/${id}`;
      if (this.#instances.has(key)) continue;
      this.#instances.add(key);
      return { id, free: () => void this.#instances.delete(key) };
    }
  }

  /** Reads messages for a consumer. */
  fetchClient(consumer: KafkaClientConsumer): FetchClient {
    return new FetchClient(this.#library, this.connectionPool(), consumer);
  }

  connectionPool(requestTimeout = 30_000): KafkaConnectionPool {
    return new this.#library.ConnectionPool(this.#config.clientId, { ...this.#base(), requestTimeout });
  }

  /** The APIs of the offsets of groups, newest version first. */
  get offsetApis() {
    const { offsetFetchV8, offsetFetchV9, offsetCommitV8, offsetCommitV9 } = this.#library;
    return {
      fetch: [[9, offsetFetchV9] as const, [8, offsetFetchV8] as const],
      commit: [[9, offsetCommitV9] as const, [8, offsetCommitV8] as const],
    };
  }

  /** An error that the broker gave as a code. */
  protocolError(code: number): Error {
    const { ProtocolError, protocolErrorsCodesById } = this.#library;
    if (code in protocolErrorsCodesById) return new ProtocolError(code);
    return new MessagingError("REFUSED", `the Kafka broker gave the unknown error ${code}`);
  }

  /** Creates topics that do not exist, where that is allowed. Returns once they can be used. */
  async ensureTopics(topics: readonly string[], mayCreate = true): Promise<void> {
    const missing = topics.filter((topic) => !this.#known.has(topic));
    for (const topic of missing) {
      if (!(await this.#exists(topic))) {
        if (!mayCreate) throw new MessagingError("UNKNOWN_TOPIC", `there is no topic '${topic}'`);
        await this.#create(topic);
      }
      if (this.#known.size > 10_000) this.#known.clear();
      this.#known.add(topic);
    }
  }

  /** The names of all topics that the user may see, without those of Kafka itself. */
  async topics(): Promise<readonly string[]> {
    try {
      return await this.probe.listTopics({});
    } catch (error) {
      const names = namesIn(error);
      if (names !== null) return names;
      throw this.translate(error);
    }
  }

  /** The error in our words. A topic that was deleted is looked for, or created, before its next use. */
  translate(error: unknown): MessagingError {
    const failure = kafkaError(error, this.#config.address);
    if (failure.code === "UNKNOWN_TOPIC") this.#known.clear();
    return failure;
  }

  /** The result of calls, with their errors as those of messaging. */
  async translated<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw this.translate(error);
    }
  }

  async close(): Promise<void> {
    for (const admin of [this.#admin, this.#probe]) await admin?.close().catch(() => {});
    this.#admin = null;
    this.#probe = null;
    this.#thread.close();
  }

  async #exists(topic: string): Promise<boolean> {
    try {
      const { topics } = await this.probe.metadata({ topics: [topic], forceUpdate: true });
      return (topics.get(topic)?.partitionsCount ?? 0) > 0;
    } catch (error) {
      const failure = kafkaError(error, this.#config.address);
      if (failure.code === "UNKNOWN_TOPIC") return false;
      throw failure;
    }
  }

  async #create(topic: string): Promise<void> {
    const { createTopics, partitions, replicas, address } = this.#config;
    if (!createTopics) {
      const text = `the Kafka broker at ${address} does not know the topic '${topic}', and 'createTopics' is false`;
      throw new MessagingError("UNKNOWN_TOPIC", text);
    }
    try {
      await this.admin.createTopics({ topics: [topic], partitions, replicas });
    } catch (error) {
      // Another process was faster.
      if (!/TOPIC_ALREADY_EXISTS|already exists/.test(String(this.translate(error).message)))
        throw this.translate(error);
    }
    // Brokers learn of a new topic one after the other.
    for (let tries = 0; tries < 50 && !(await this.#exists(topic)); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  #base(): object {
    const { brokers, clientId, connectTimeout, sasl, tls } = this.#config;
    return {
      clientId,
      bootstrapBrokers: [...brokers],
      connectTimeout: milliseconds(connectTimeout),
      requestTimeout: 30_000,
      retries: 3,
      retryDelay: 250,
      ...(sasl && { sasl: sasl.mechanism === "OAUTHBEARER" ? { ...sasl, authBytesValidator: checkToken } : sasl }),
      ...(tls && { tls }),
    };
  }
}

/** The names in a response that the library takes for an error, since one partition of all has no leader; null for others. */
export function namesIn(error: unknown): readonly string[] | null {
  const { response } = error as { readonly response?: { readonly topics?: unknown } };
  if (!Array.isArray(response?.topics)) return null;
  const topics = response.topics as readonly { name: string | null; errorCode: number; isInternal: boolean }[];
  return topics.flatMap(({ name, errorCode, isInternal }) =>
    name === null || errorCode !== 0 || isInternal ? [] : [name],
  );
}

/** A broker refuses a token by bytes in its response, with which the library would continue. */
function checkToken(bytes: Buffer, checked: (error: Error | null, bytes?: Buffer) => void): void {
  const refusal = bytes.toString("utf8", 0, 200);
  const text = `the Kafka broker refused the token: ${refusal}`;
  checked(refusal === "" ? null : new MessagingError("REFUSED", text), bytes);
}
