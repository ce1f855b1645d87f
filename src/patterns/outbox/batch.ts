import { errorText } from "../../durable/texts.js";
import type { BrokerName, OutgoingRecord } from "../../engines/messaging/broker.js";
import { asMessagingError, type MessagingError, type MessagingErrorCode } from "../../engines/messaging/errors.js";
import { backoff } from "../../kit/time/backoff.js";
import type { OutboxSettings } from "./options.js";
import type { Failure, Settlement, StoredMessage } from "./storage.js";

/** The broker or the topic cannot be reached or is overloaded: no fault of the message, and not counted as an attempt. */
const passing: ReadonlySet<MessagingErrorCode> = new Set(["UNREACHABLE", "TIMEOUT", "BUSY", "CLOSED"]);
/** Another attempt cannot cure these. */
const final: ReadonlySet<MessagingErrorCode> = new Set(["TOO_LARGE", "INVALID", "UNSUPPORTED"]);

/**
 * Brokers that confirm or refuse records of one key together. With the others a record can be refused while a later one of
 * its key is accepted: there a key has one record under way at a time.
 */
const wholeBatches: ReadonlySet<BrokerName> = new Set(["memory", "kafka"]);

const longestPause = 60_000;

type BatchOptions = Pick<OutboxSettings, "attempts" | "backoff">;

export interface BatchResult {
  readonly settlement: Settlement;
  /** Topics that cannot be reached, with the error. Their messages stay as they are. */
  readonly away: ReadonlyMap<string, MessagingError>;
  /** True if a message was published that had failed before: those behind it can continue. */
  readonly recovered: boolean;
}

type Send = (records: readonly OutgoingRecord[]) => Promise<readonly (MessagingError | null)[]>;

/** Publishes messages in the order of each key. After a failure the later messages of its key are not published. */
export async function publishBatch(
  messages: readonly StoredMessage[],
  broker: BrokerName,
  send: Send,
  options: BatchOptions,
): Promise<BatchResult> {
  const published: number[] = [];
  const failed: Failure[] = [];
  const held: number[] = [];
  const stopped = new Set<string>();
  const away = new Map<string, MessagingError>();
  let recovered = false;
  let rest: readonly StoredMessage[] = messages;
  while (rest.length > 0) {
    const { wave, later } = nextWave(rest, !wholeBatches.has(broker));
    const outcomes = await outcomesOf(wave, send);
    for (const [index, message] of wave.entries()) {
      const error = outcomes[index] ?? null;
      if (error === null) {
        published.push(message.id);
        recovered ||= message.state === "failed";
      } else if (passing.has(error.code)) {
        away.set(message.topic, error);
      } else if (message.key !== null && stopped.has(laneOf(message)!)) {
        held.push(message.id);
      } else {
        failed.push(failureOf(message, error, options));
        if (message.key !== null) stopped.add(laneOf(message)!);
      }
    }
    rest = later.filter((message) => {
      if (away.has(message.topic)) return false;
      const waits = message.key !== null && stopped.has(laneOf(message)!);
      if (waits && message.state === "ready") held.push(message.id);
      return !waits;
    });
  }
  return { settlement: { published, failed, held }, away, recovered };
}

/** The first message of each key, and those without a key; or all of them. */
function nextWave(
  messages: readonly StoredMessage[],
  oneByOne: boolean,
): { readonly wave: readonly StoredMessage[]; readonly later: readonly StoredMessage[] } {
  if (!oneByOne) return { wave: messages, later: [] };
  const wave: StoredMessage[] = [];
  const later: StoredMessage[] = [];
  const lanes = new Set<string>();
  for (const message of messages) {
    const lane = laneOf(message);
    if (lane !== null && lanes.has(lane)) later.push(message);
    else wave.push(message);
    if (lane !== null) lanes.add(lane);
  }
  return { wave, later };
}

function laneOf({ topic, key }: StoredMessage): string | null {
  return key === null ? null : `${topic} ${key}`;
}

async function outcomesOf(wave: readonly StoredMessage[], send: Send): Promise<readonly (MessagingError | null)[]> {
  try {
    return await send(wave.map(recordOf));
  } catch (error) {
    const failure = asMessagingError(error);
    return wave.map(() => failure);
  }
}

function failureOf({ id, attempts }: StoredMessage, error: MessagingError, options: BatchOptions): Failure {
  const over = final.has(error.code) || attempts + 1 >= options.attempts;
  const pause = over ? null : backoff(attempts, options.backoff * 1000, longestPause);
  return { id, error: `${error.code}: ${errorText(error.message)}`, pause };
}

const encoder = new TextEncoder();

function recordOf({ message_id, topic, key, headers, body, bytes, stored_at }: StoredMessage): OutgoingRecord {
  return {
    topic,
    id: message_id,
    key,
    headers,
    body: bytes ?? encoder.encode(body!),
    timestamp: Math.round(stored_at),
    delayMs: 0,
  };
}
