import { innermost } from "../../../errors/innermost.js";
import { MessagingError } from "../errors.js";

/** Errors of the protocol that another try can cure: leaders and coordinators that move, brokers that start. */
const passing =
  /^(?:COORDINATOR_|NOT_COORDINATOR|NOT_LEADER|LEADER_NOT_AVAILABLE|NETWORK_|REQUEST_TIMED_OUT|NOT_ENOUGH_REPLICAS|BROKER_NOT_AVAILABLE|NOT_CONTROLLER|REBALANCE_IN_PROGRESS|UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION|OUT_OF_ORDER_SEQUENCE|UNKNOWN_PRODUCER_ID|INVALID_PRODUCER_EPOCH|KAFKA_STORAGE_ERROR|FENCED_)/;

/** An error of the client library in our words. The innermost error is the cause: those around it say "failed 3 times". */
export function kafkaError(error: unknown, address: string): MessagingError {
  if (error instanceof MessagingError) return error;
  const inner = innermost(error);
  if (inner instanceof MessagingError) return inner;
  const {
    message = String(inner),
    code,
    apiId,
  } = Object(inner) as {
    message?: string;
    code?: string;
    apiId?: string;
  };
  const text = message === "" ? String(code ?? apiId) : message;
  const at = `the Kafka broker at ${address}`;
  if (apiId === "UNKNOWN_TOPIC_OR_PARTITION" || apiId === "UNKNOWN_TOPIC_ID" || text.startsWith("Unknown topic ")) {
    return new MessagingError("UNKNOWN_TOPIC", `${at} does not know the topic`, { cause: error });
  }
  if (apiId === "MESSAGE_TOO_LARGE" || apiId === "RECORD_LIST_TOO_LARGE") {
    return new MessagingError("TOO_LARGE", `${at}: ${text}`, { cause: error });
  }
  if (code === "PLT_KFK_AUTHENTICATION" || (apiId !== undefined && !passing.test(apiId)) || code === "PLT_KFK_USER") {
    return new MessagingError("REFUSED", `${at} refused: ${text}`, { cause: error });
  }
  return new MessagingError("UNREACHABLE", `${at} is unreachable: ${text}`, { cause: error });
}

/** True if the group is being shared again: the client returns to it by itself. */
export function isRebalance(error: unknown): boolean {
  const { apiId } = Object(innermost(error)) as { apiId?: string };
  return apiId === "ILLEGAL_GENERATION" || apiId === "REBALANCE_IN_PROGRESS" || apiId === "UNKNOWN_MEMBER_ID";
}

/** True if the broker of a group is not ready: a new cluster first makes the topic of offsets, which can take seconds. */
export function isCoordinatorAway(error: unknown): boolean {
  const { apiId } = Object(innermost(error)) as { apiId?: string };
  return apiId === "NOT_COORDINATOR" || apiId?.startsWith("COORDINATOR_") === true;
}

/** True if a transaction that is not ended is about to move an offset. */
export function isUnstable(error: unknown): boolean {
  return hasApiId(error, "UNSTABLE_OFFSET_COMMIT");
}

/** True if the metadata of an offset is longer than `offset.metadata.max.bytes` of the broker. */
export function isMetadataTooLarge(error: unknown): boolean {
  return hasApiId(error, "OFFSET_METADATA_TOO_LARGE");
}

interface Produced {
  readonly response?: {
    readonly responses?: readonly {
      readonly partitionResponses: readonly { readonly index: number; readonly errorCode: number }[];
    }[];
  };
}

/** The partitions that refused their part of a request to one topic; null if others may have failed for another reason. */
export function refusedPartitions(error: unknown): ReadonlySet<number> | null {
  const responses = (error as Produced | null)?.response?.responses;
  if (responses !== undefined) {
    const parts = responses.flatMap(({ partitionResponses }) => partitionResponses);
    return new Set(parts.filter(({ errorCode }) => errorCode !== 0).map(({ index }) => index));
  }
  if (!(error instanceof AggregateError) || error.errors.length === 0) return null;
  const all = error.errors.map(refusedPartitions);
  return all.includes(null) ? null : new Set(all.flatMap((each) => [...each!]));
}

function hasApiId(error: unknown, apiId: string): boolean {
  const { findBy } = error as { findBy?: (property: string, value: unknown) => unknown };
  return typeof findBy === "function" && Boolean(findBy.call(error, "apiId", apiId));
}
