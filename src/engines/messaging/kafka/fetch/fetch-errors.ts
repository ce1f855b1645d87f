import { MessagingError } from "../../errors.js";

/** Codes of the protocol. */
export const offsetOutOfRange = 1;
export const leaderNotAvailable = 5;
export const unknownTopicId = 100;

/**
 * Errors of a partition that another try can cure, with the leader that the brokers name then: the leader has moved, or does
 * not know it yet, or the broker starts.
 */
const passing: ReadonlySet<number> = new Set([
  -1, // UNKNOWN_SERVER_ERROR
  3, // UNKNOWN_TOPIC_OR_PARTITION
  leaderNotAvailable,
  6, // NOT_LEADER_OR_FOLLOWER
  7, // REQUEST_TIMED_OUT
  8, // BROKER_NOT_AVAILABLE
  9, // REPLICA_NOT_AVAILABLE
  13, // NETWORK_EXCEPTION
  56, // KAFKA_STORAGE_ERROR
  74, // FENCED_LEADER_EPOCH
  75, // UNKNOWN_LEADER_EPOCH
  78, // OFFSET_NOT_AVAILABLE
  unknownTopicId,
  103, // INCONSISTENT_TOPIC_ID
]);

/** True if another try can succeed. */
export function isPassing(error: unknown): boolean {
  if (error instanceof MessagingError) return false;
  const { apiCode, canRetry } = error as { apiCode?: number; canRetry?: boolean };
  return apiCode === undefined ? canRetry === true : passing.has(apiCode);
}
