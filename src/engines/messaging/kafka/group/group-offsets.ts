import { lazily } from "../../../../kit/on-demand.js";
import { sleep } from "../../../../kit/time/within.js";
import { MessagingError } from "../../errors.js";
import type { KafkaClients } from "../clients.js";
import type { KafkaClientConsumer, KafkaConnection, KafkaConnectionPool } from "../library.js";
import { newestApi } from "../newest-api.js";
import type { GroupOffset } from "../partition.js";
import { isMetadataTooLarge, isRebalance, isUnstable } from "../translate-error.js";
import { shortened } from "./progress.js";

/** Tries of a request, and milliseconds between them. */
const mostTries = 4;
const pause = 250;
/** Milliseconds until the next look at an offset that a transaction is about to move. */
const unstablePause = 50;

/** An offset that the group has committed. */
export interface Committed {
  readonly offset: bigint;
  readonly metadata: string | null;
}

/**
 * Reads and commits the offsets of a group in a topic, on its own connections: a broker responds to JoinGroup when all
 * members have joined, and further requests of that connection wait until then. The functions of the library neither carry metadata nor
 * wait for transactions, and join the group again by themselves when a commit fails.
 */
export class GroupOffsets {
  readonly #clients: KafkaClients;
  readonly #consumer: KafkaClientConsumer;
  readonly #topic: string;
  readonly #pool: KafkaConnectionPool;
  /** The longest metadata that the broker takes. It does not say so before it has refused a longer one. */
  #longest = Infinity;
  readonly #fetchApi = lazily(() => newestApi(this.#consumer, "OffsetFetch", this.#clients.offsetApis.fetch));
  readonly #commitApi = lazily(() => newestApi(this.#consumer, "OffsetCommit", this.#clients.offsetApis.commit));

  constructor(clients: KafkaClients, consumer: KafkaClientConsumer, topic: string) {
    this.#clients = clients;
    this.#consumer = consumer;
    this.#topic = topic;
    this.#pool = clients.connectionPool();
  }

  /**
   * The offsets of partitions that have one. With `stable`, offsets that a transaction is about to move are waited for: read
   * before that, its messages would be handled twice. `wanted` ends the wait.
   */
  async fetch(
    partitions: readonly number[],
    { stable, wanted = () => true }: { readonly stable: boolean; wanted?: () => boolean },
  ): Promise<Map<number, Committed>> {
    const { groupId, memberId } = this.#consumer;
    const topics = [{ name: this.#topic, partitionIndexes: partitions }];
    const groups = [{ groupId, memberId, memberEpoch: -1, topics }];
    const { api } = (await this.#fetchApi()).api;
    for (;;) {
      try {
        const response = await this.#ask((connection) => api.async(connection, groups, stable));
        const found = response.groups.flatMap((group) => group.topics).flatMap((topic) => topic.partitions);
        return new Map(
          found
            .filter(({ committedOffset }) => committedOffset >= 0n)
            .map(({ partitionIndex, committedOffset, metadata }) => [
              partitionIndex,
              { offset: committedOffset, metadata: metadata || null },
            ]),
        );
      } catch (error) {
        if (!isUnstable(error) || !wanted()) throw error;
        // After `transactionTimeout` the broker ends a transaction whose process has ended.
        await sleep(unstablePause);
      }
    }
  }

  /** Commits offsets as the member that the consumer is now. Metadata that the broker does not take is shortened. */
  async commit(offsets: ReadonlyMap<number, GroupOffset>): Promise<void> {
    for (;;) {
      try {
        return await this.#commit(offsets);
      } catch (error) {
        const sent = Math.max(
          ...[...offsets.values()].map(({ metadata }) => shortened(metadata, this.#longest).length),
        );
        if (!isMetadataTooLarge(error) || sent === 0) throw error;
        this.#longest = Math.floor(sent / 2);
      }
    }
  }

  async #commit(offsets: ReadonlyMap<number, GroupOffset>): Promise<void> {
    const { groupId, memberId, generationId } = this.#consumer;
    const partitions = [...offsets].map(([partitionIndex, { offset, metadata }]) => {
      const committedMetadata = shortened(metadata, this.#longest);
      return { partitionIndex, committedOffset: offset, committedLeaderEpoch: -1, committedMetadata };
    });
    const topics = [{ name: this.#topic, partitions }];
    const { api } = (await this.#commitApi()).api;
    await this.#ask((connection) => api.async(connection, groupId, generationId, memberId ?? "", null, topics));
  }

  close(): void {
    this.#pool.close().catch(() => {});
  }

  /** Asks the broker that keeps the offsets of the group. */
  async #ask<Response>(request: (connection: KafkaConnection) => Promise<Response>): Promise<Response> {
    for (let tries = 1; ; tries++) {
      try {
        const { coordinatorId } = this.#consumer;
        const { brokers } = await this.#consumer.metadata({ topics: [this.#topic] });
        const address = coordinatorId === null ? undefined : brokers.get(coordinatorId);
        if (address === undefined) throw new MessagingError("UNREACHABLE", "the broker of the group is unknown");
        return await request(await this.#pool.get(address));
      } catch (error) {
        if (tries >= mostTries || isRebalance(error) || isUnstable(error) || isMetadataTooLarge(error)) throw error;
        await sleep(pause);
      }
    }
  }
}
