import { lazily } from "../../../../kit/on-demand.js";
import type {
  KafkaAddress,
  KafkaClientConsumer,
  KafkaConnectionPool,
  KafkaFetchRequest,
  KafkaFetchVersion,
  KafkaLibrary,
} from "../library.js";
import { newestApi } from "../newest-api.js";
import { type FetchResponse, firstVersionWithIds, readFetchResponse } from "./response.js";

/** The number of the API Fetch in the protocol. */
const fetchKey = 1;
/** Messages of open transactions are not sent. */
const readCommitted = 1;
/** An epoch of fetch sessions that makes none: the broker would keep a new one for each request. */
const noSession = -1;

/** Bytes of a response, and of one partition in it. A single batch that is larger comes nevertheless. */
const responseBytes = 4 * 1024 * 1024;
const partitionBytes = 1024 * 1024;
/** Milliseconds that the broker waits for messages when there are none. */
const longestWait = 500;

/** A partition to read. */
export interface FetchFrom {
  readonly number: number;
  readonly offset: bigint;
  readonly leaderEpoch: number;
}

/**
 * Asks brokers for messages, on its own connections: a broker responds to the requests of a connection one after the other,
 * and one that waits for messages would hold up heartbeats and commits.
 */
export class FetchClient {
  readonly #pool: KafkaConnectionPool;
  readonly #api: () => Promise<{ readonly version: number; readonly api: KafkaFetchVersion }>;

  constructor(library: KafkaLibrary, pool: KafkaConnectionPool, consumer: KafkaClientConsumer) {
    this.#pool = pool;
    const known = [
      [17, library.fetchV17],
      [16, library.fetchV16],
      [15, library.fetchV15],
      [14, library.fetchV14],
      [13, library.fetchV13],
      [12, library.fetchV12],
    ] as const;
    this.#api = lazily(() => newestApi<KafkaFetchVersion>(consumer, "Fetch", known));
  }

  async fetch(
    address: KafkaAddress,
    topic: { readonly name: string; readonly id: string },
    partitions: readonly FetchFrom[],
  ): Promise<FetchResponse> {
    const { version, api } = await this.#api();
    const connection = await this.#pool.get(address);
    const topicId = version < firstVersionWithIds ? topic.name : topic.id;
    const request: KafkaFetchRequest = [
      longestWait,
      1,
      responseBytes,
      readCommitted,
      0,
      noSession,
      [{ topicId, partitions: partitions.map(wanted) }],
      [],
      "",
    ];
    return new Promise((resolve, reject) => {
      connection.send(
        fetchKey,
        version,
        () => api.createRequest(...request),
        (_correlation, _key, _version, reader) =>
          readFetchResponse(reader.buffer.buffer.subarray(reader.position), version),
        true,
        true,
        (error, response) => (error ? reject(error) : resolve(response!)),
      );
    });
  }

  /** Ends the connections. Requests that are under way fail. */
  close(): void {
    this.#pool.close().catch(() => {});
  }
}

function wanted({ number, offset, leaderEpoch }: FetchFrom): object {
  return {
    partition: number,
    currentLeaderEpoch: leaderEpoch,
    fetchOffset: offset,
    lastFetchedEpoch: -1,
    partitionMaxBytes: partitionBytes,
  };
}
