import { notInstalled } from "../../../internal/not-installed.js";
import { missingPackage } from "../../db/missing-package.js";

/*
 * The part of @platformatic/kafka that is used. Its own types are not named: the declarations of Stoa must compile where it
 * is not installed.
 */

export interface KafkaLibrary {
  readonly Producer: new (options: object) => KafkaProducer;
  readonly Consumer: new (options: object) => KafkaClientConsumer;
  readonly Admin: new (options: object) => KafkaAdmin;
  readonly ConnectionPool: new (clientId: string, options: object) => KafkaConnectionPool;
  /** Takes a code of the protocol. */
  readonly ProtocolError: new (
    code: number,
  ) => Error;
  readonly protocolErrorsCodesById: Readonly<Record<number, string>>;
  readonly compatibilityPartitioner: (message: unknown, key: Buffer) => number;
  readonly compressionsAlgorithms: Readonly<Record<string, KafkaCompression>>;
  readonly fetchV12: KafkaFetchVersion;
  readonly fetchV13: KafkaFetchVersion;
  readonly fetchV14: KafkaFetchVersion;
  readonly fetchV15: KafkaFetchVersion;
  readonly fetchV16: KafkaFetchVersion;
  readonly fetchV17: KafkaFetchVersion;
}

interface KafkaCompression {
  /** Its number in the attributes of a batch. */
  readonly bitmask: number;
  decompressSync(data: Buffer): Buffer;
}

/** One version of the API Fetch. */
export interface KafkaFetchVersion {
  createRequest(...request: KafkaFetchRequest): unknown;
}

export type KafkaFetchRequest = readonly [
  maxWait: number,
  minBytes: number,
  maxBytes: number,
  isolationLevel: number,
  sessionId: number,
  sessionEpoch: number,
  topics: readonly object[],
  forgotten: readonly object[],
  rack: string,
];

export interface KafkaAddress {
  readonly host: string;
  readonly port: number;
}

export interface KafkaConnectionPool {
  get(address: KafkaAddress): Promise<KafkaConnection>;
  close(): Promise<void>;
}

interface KafkaConnection {
  send<Response>(
    apiKey: number,
    version: number,
    createRequest: () => unknown,
    parse: (correlation: number, apiKey: number, version: number, reader: KafkaReader) => Response,
    hasRequestTags: boolean,
    hasResponseTags: boolean,
    ended: (error: Error | null, response?: Response) => void,
  ): void;
}

interface KafkaReader {
  /** Chunks of the response; `buffer` puts them together. */
  readonly buffer: { readonly buffer: Buffer };
  readonly position: number;
}

interface Emitter {
  on(event: string, listener: (value: never) => void): unknown;
  removeAllListeners(event?: string): unknown;
}

interface KafkaClient extends Emitter {
  metadata(options: object): Promise<KafkaMetadata>;
  close(force?: boolean): Promise<void>;
}

export interface KafkaMetadata {
  readonly topics: ReadonlyMap<string, KafkaTopicMetadata>;
  /** By the number of the broker. */
  readonly brokers: ReadonlyMap<number, KafkaAddress>;
}

interface KafkaTopicMetadata {
  readonly id: string;
  readonly partitionsCount: number;
  readonly partitions: readonly { readonly leader: number; readonly leaderEpoch: number }[];
}

export interface KafkaProducer extends KafkaClient {
  send(options: SendRequest): Promise<unknown>;
  beginTransaction(): Promise<KafkaTransaction>;
}

interface SendRequest {
  readonly messages: readonly KafkaOutgoing[];
  readonly [option: string]: unknown;
}

export interface KafkaTransaction {
  send(options: SendRequest): Promise<unknown>;
  addConsumer(consumer: KafkaClientConsumer): Promise<void>;
  /** Moves the group's offset over the message. */
  addOffset(message: object): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface KafkaOutgoing {
  readonly topic: string;
  readonly key?: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly timestamp: bigint;
  readonly partition?: number;
}

export interface KafkaOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly leaderEpoch: number;
}

/** Offsets of all partitions by topic; the place in the list is the number of the partition. */
export type KafkaOffsets = ReadonlyMap<string, readonly bigint[]>;

export interface KafkaClientConsumer extends KafkaClient {
  readonly assignments: readonly { readonly topic: string; readonly partitions: readonly number[] }[] | null;
  readonly lastHeartbeat: Date | null;
  readonly groupId: string;
  readonly memberId: string | null;
  readonly generationId: number;
  readonly coordinatorId: number | null;
  /** The topics that the consumer wants from its group. */
  readonly topics: { track(topic: string): unknown };
  joinGroup(options: object): Promise<unknown>;
  listApis(): Promise<readonly { readonly name: string; readonly minVersion: number; readonly maxVersion: number }[]>;
  commit(options: { readonly offsets: readonly KafkaOffset[] }): Promise<void>;
  listOffsets(options: { readonly topics: readonly string[]; readonly timestamp?: bigint }): Promise<KafkaOffsets>;
  listCommittedOffsets(options: {
    readonly topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
  }): Promise<KafkaOffsets>;
}

export interface KafkaAdmin extends KafkaClient {
  createTopics(options: { topics: string[]; partitions: number; replicas: number }): Promise<unknown>;
  deleteRecords(options: {
    topics: { name: string; partitions: { partition: number; offset: bigint }[] }[];
  }): Promise<unknown>;
}

/** Loads the client library, which applications without a log broker do not need. */
export async function loadKafka(load: () => Promise<KafkaLibrary> = importKafka): Promise<KafkaLibrary> {
  try {
    return await load();
  } catch (error) {
    throw missingPackage("@platformatic/kafka", "enableMessaging", error);
  }
}

async function importKafka(): Promise<KafkaLibrary> {
  const library = await import("@platformatic/kafka").catch(notInstalled);
  await addZstd(library.compressionsAlgorithms as unknown as Compressions);
  return library as unknown as KafkaLibrary;
}

interface Compressions {
  readonly zstd: { available?: boolean; decompressSync: (data: Buffer) => Buffer };
}

/**
 * Lets batches be read that other programs compressed with zstd, which Node has from version 22 on only: one such batch
 * would end the consumer, again and again, before its messages. Needs the package fzstd; without it nothing changes.
 */
async function addZstd({ zstd }: Compressions): Promise<void> {
  if (zstd.available) return;
  try {
    const { decompress } = await import("fzstd");
    zstd.decompressSync = (data) => Buffer.from(decompress(Buffer.isBuffer(data) ? data : Buffer.from(data)));
  } catch {
    // Not installed: a zstd batch is an error that names the compression.
  }
}
