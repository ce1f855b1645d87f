import { loadPackage, notInstalled } from "../../../kit/optional-package.js";

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
  readonly compressionsAlgorithms: Readonly<Record<"snappy" | "lz4", KafkaCompression>>;
  readonly fzstd: ((data: Buffer, into: Uint8Array) => Uint8Array) | null;
  crc32c(data: Buffer): number;
  /** The name of the function with which clients look for the function of a request. */
  readonly kGetApi: symbol;
  readonly offsetFetchV8: KafkaApi<OffsetFetchResponse>;
  readonly offsetFetchV9: KafkaApi<OffsetFetchResponse>;
  readonly offsetCommitV8: KafkaApi<unknown>;
  readonly offsetCommitV9: KafkaApi<unknown>;
  readonly fetchV12: KafkaFetchVersion;
  readonly fetchV13: KafkaFetchVersion;
  readonly fetchV14: KafkaFetchVersion;
  readonly fetchV15: KafkaFetchVersion;
  readonly fetchV16: KafkaFetchVersion;
  readonly fetchV17: KafkaFetchVersion;
}

interface KafkaCompression {
  decompressSync(data: Buffer): Buffer;
}

/** One version of an API. */
export interface KafkaApi<Response> {
  readonly api: { async(connection: KafkaConnection, ...request: unknown[]): Promise<Response> };
}

export interface OffsetFetchResponse {
  readonly groups: readonly {
    readonly topics: readonly {
      readonly partitions: readonly {
        readonly partitionIndex: number;
        readonly committedOffset: bigint;
        readonly metadata: string | null;
      }[];
    }[];
  }[];
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

export interface KafkaConnection {
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
  send(options: SendRequest): Promise<KafkaProduced>;
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
  /** Absent for a tombstone. */
  readonly value?: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly timestamp: bigint;
  readonly partition?: number;
  /** Set by the partitioner: the partition is the rest of its division by their number. */
  drawn?: number;
}

/** The first offset of a request in each partition that it has written. */
export interface KafkaProduced {
  readonly offsets?: readonly { readonly partition: number; readonly offset: bigint }[];
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
  readonly topics: { readonly current: readonly string[]; track(topic: string): unknown };
  joinGroup(options: object): Promise<unknown>;
  listApis(): Promise<readonly { readonly name: string; readonly minVersion: number; readonly maxVersion: number }[]>;
  listOffsets(options: { readonly topics: readonly string[]; readonly timestamp?: bigint }): Promise<KafkaOffsets>;
  /** Under the name `kGetApi`. */
  [getApi: symbol]: (name: string, found: (error: Error | null, api?: KafkaGroupApi) => void) => void;
}

/** A request of a member of a group. The last argument is called with the response. */
export type KafkaGroupApi = (connection: never, ...request: never[]) => void;

/** Asks to join a group. The broker responds when all members have. */
export type KafkaJoinApi = (
  connection: unknown,
  groupId: string,
  sessionTimeout: number,
  rebalanceTimeout: number,
  memberId: string,
  instanceId: string | null,
  type: string,
  protocols: readonly { readonly name: string; readonly metadata: Buffer }[],
  reason: string,
  ended: (error: Error | null, response?: KafkaJoinResponse) => void,
) => void;

interface KafkaJoinResponse {
  readonly memberId: string;
  readonly generationId: number;
  readonly protocolName: string | null;
  /** Of the member that leads the group only. */
  readonly members: readonly { readonly memberId: string; readonly metadata: Buffer }[];
}

export interface KafkaAdmin extends KafkaClient {
  createTopics(options: { topics: string[]; partitions: number; replicas: number }): Promise<unknown>;
  listTopics(options: object): Promise<string[]>;
  deleteRecords(options: {
    topics: { name: string; partitions: { partition: number; offset: bigint }[] }[];
  }): Promise<unknown>;
}

/** Loads the client library, which applications without a log broker do not need. */
export function loadKafka(): Promise<KafkaLibrary> {
  // Without the range npm installs version 2, which throws on Node 20 and which the range of the peer dependency refuses.
  return loadPackage(importKafka, "@platformatic/kafka", "enableMessaging", `@1.35${nodeNote()}`);
}

/** Parts of the client library name a newer Node than it does itself. They work on Node 20; npm warns of them. */
function nodeNote(): string {
  const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
  const isNamed = major > 22 || (major === 22 && minor >= 19);
  return isNamed ? "" : ` (npm warns on Node ${process.versions.node}: parts of it ask for 22.19 or newer)`;
}

async function importKafka(): Promise<KafkaLibrary> {
  const library = (await import("@platformatic/kafka").catch(notInstalled)) as unknown as Omit<KafkaLibrary, "fzstd">;
  return { ...library, fzstd: await importFzstd() };
}

/** Unpacks zstd, which Node has from version 22.15 on only. Null without the package fzstd. */
async function importFzstd(): Promise<KafkaLibrary["fzstd"]> {
  const fzstd = await import("fzstd").catch(() => null);
  return fzstd?.decompress ?? null;
}
