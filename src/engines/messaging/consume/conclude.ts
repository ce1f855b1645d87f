import { backoff } from "../../../kit/time/backoff.js";
import { sleep } from "../../../kit/time/within.js";
import { MessagingError } from "../errors.js";
import { frameworkHeaders } from "../headers.js";
import { cutDeadLetter, type Death, deadLetterRecord } from "./dead-letter.js";
import type { ConsumerContext, InFlightMessage, WorkResult } from "./in-flight-message.js";
import type { AttemptResult } from "./outcome.js";
import { deadLetterReply, rejected, sendReply } from "./reply.js";
import { pauseAfter } from "./retry.js";

const longestPause = 30_000;

/**
 * A message that cannot be read, or was delivered again and again without a result, becomes a dead letter; null for any
 * other.
 */
export function undeliverable(inFlight: InFlightMessage, attempts: number): Promise<WorkResult> | null {
  const { earlier, unreadable } = inFlight.delivery;
  if (unreadable !== undefined)
    return sendToDeadLetters(inFlight, { reason: "unreadable", error: unreadable, attempts });
  if (earlier < inFlight.consumer.settings.maxDeliveries) return null;
  const error = new Error(`delivered ${earlier} times without a result`);
  return sendToDeadLetters(inFlight, { reason: "undeliverable", error, attempts });
}

/** The message waits here for its next attempt. */
export interface RetryLater {
  /** Attempts that were made. */
  readonly attempts: number;
  /** Milliseconds. */
  readonly pause: number;
  /** True if its batch has failed for the last time: the next attempt is for this message alone. */
  readonly alone?: boolean;
}

/** Settles a message by the outcome of an attempt, or says when the next attempt is due here. */
export function conclude(
  inFlight: InFlightMessage,
  outcome: AttemptResult,
  attempts: number,
): WorkResult | RetryLater | Promise<WorkResult | RetryLater> {
  const { topic, settings, logger } = inFlight.consumer;
  // A handler that has finished can still be remembered, unless its signal may have ended it early.
  const isOver = (outcome.kind === "done" || outcome.kind === "reject") && !inFlight.attempt.isRead;
  if (inFlight.lost && !(isOver && inFlight.isKnown)) return "lost";
  switch (outcome.kind) {
    case "done":
    case "duplicate":
      if (outcome.kind === "done") sendReply(inFlight, { value: outcome.value });
      return acknowledged(inFlight, outcome.kind);
    case "reject":
      logger.info("a message was rejected", { ...named(inFlight), reason: outcome.reason });
      sendReply(inFlight, rejected(outcome.reason));
      return acknowledged(inFlight, "rejected");
    case "dead":
      return sendToDeadLetters(inFlight, { ...outcome, attempts: attempts + 1 });
    case "busy":
      return later(inFlight, attempts, outcome.delayMs, "requeued");
    case "requeue":
      return later(inFlight, attempts, outcome.delayMs ?? pauseAfter(1, settings.retry), "requeued");
    case "retry": {
      const made = attempts + 1;
      const { error } = outcome;
      if (isLast(error, made, inFlight.consumer)) {
        return sendToDeadLetters(inFlight, { reason: "failed", error, attempts: made });
      }
      const pause = outcome.delayMs ?? pauseAfter(made, settings.retry);
      const next = `attempt ${made} of ${settings.retry.attempts}; the next in ${pause / 1000} s`;
      logger.warn(`a message of '${topic}' failed: ${next}`, { ...named(inFlight), error });
      return later(inFlight, made, pause, "retried");
    }
  }
}

/**
 * Has the message handled again after a pause. The broker keeps it during the pause, and the work here is over; or it waits here:
 * a message with a key does, so that those after it wait too.
 */
async function later(
  inFlight: InFlightMessage,
  attempts: number,
  pause: number,
  result: WorkResult,
): Promise<WorkResult | RetryLater> {
  const { record, retry } = inFlight.delivery;
  const { withoutSlot, logger } = inFlight.consumer;
  if (record.key === null && retry !== undefined && pause > 0) {
    const headers = { ...record.headers, [frameworkHeaders.attempt]: String(attempts) };
    try {
      const given = () => inFlight.settle((delivery) => delivery.retry!(headers, pause));
      // A broker that takes no messages for a while must not keep the handlers of others waiting.
      if (await withoutSlot(inFlight, given)) return result;
    } catch (error) {
      logger.warn("a message could not be given back: it waits here", { ...named(inFlight), error });
    }
    if (inFlight.lost) return "lost";
  }
  return { attempts, pause };
}

/** The consumer drains: the message goes to others. Attempts that were made count if the order allows it. */
export async function giveBack(inFlight: InFlightMessage, attempts: number, before: number): Promise<WorkResult> {
  const { record, retry } = inFlight.delivery;
  const changed = attempts > before && record.key === null && retry !== undefined;
  const headers = { ...record.headers, [frameworkHeaders.attempt]: String(attempts) };
  await inFlight
    .settle((delivery) => (changed ? delivery.retry!(headers, 0) : delivery.release()))
    .catch((error: unknown) => unsettled(inFlight, "given back", error));
  return "released";
}

/** Makes a dead letter of the message. It stays unsettled until the broker has the dead letter. */
async function sendToDeadLetters(
  inFlight: InFlightMessage,
  why: Pick<Death, "reason" | "error" | "attempts">,
): Promise<WorkResult> {
  const { topic, settings, logger, publisher, stopping, withoutSlot } = inFlight.consumer;
  const { deadLetter, group } = settings;
  const { reason, error, attempts } = why;
  const fields = { ...named(inFlight), reason, attempts, error };
  if (deadLetter === null) logger.error(`a message of '${topic}' was dropped`, fields);
  else {
    let record = deadLetterRecord(inFlight.delivery.record, deadLetter, { topic, group, ...why });
    let whole = reason !== "unreadable";
    // Its value is no message: it must not be sent back.
    if (!whole) record = cutDeadLetter(record);
    inFlight.renew();
    for (let failures = 0; ; failures++) {
      try {
        await withoutSlot(inFlight, () => publisher.publish(record));
        break;
      } catch (failure) {
        logger.error(`a dead letter of '${topic}' could not be stored`, { ...named(inFlight), error: failure });
        if (whole && failure instanceof MessagingError && failure.code === "TOO_LARGE") {
          // It would be refused each time, and the message would never end.
          record = cutDeadLetter(record);
          whole = false;
          continue;
        }
        inFlight.delivery.wait?.();
        const pause = backoff(failures, 100, longestPause);
        await withoutSlot(inFlight, () => sleep(pause, stopping, inFlight.signal));
        if (inFlight.lost) return "lost";
        if (stopping.aborted) return giveBack(inFlight, attempts, attempts);
      }
    }
    logger.error(`a message of '${topic}' is a dead letter now: '${deadLetter}'`, fields);
  }
  sendReply(inFlight, deadLetterReply(error));
  return acknowledged(inFlight, "dead");
}

/**
 * Ends the message with this result; "lost" if the broker does not take the acknowledgement. It is acknowledged when it comes
 * again.
 */
export function acknowledged(inFlight: InFlightMessage, result: WorkResult): WorkResult | Promise<WorkResult> {
  const ended = (ok: boolean): WorkResult => {
    if (ok) return result;
    inFlight.remember();
    return "lost";
  };
  const failed = (error: unknown): WorkResult => {
    inFlight.remember();
    return unsettled(inFlight, "acknowledged", error);
  };
  try {
    const acked = inFlight.ack();
    return typeof acked === "boolean" ? ended(acked) : acked.then(ended, failed);
  } catch (error) {
    return failed(error);
  }
}

/** A settlement that fails leaves the message to the broker, which delivers it again; it is neither lost nor dead. */
function unsettled(inFlight: InFlightMessage, how: string, error: unknown): "lost" {
  const { topic, logger } = inFlight.consumer;
  logger.warn(`a message of '${topic}' could not be ${how}: it will come again`, { ...named(inFlight), error });
  return "lost";
}

/** True if no attempt follows the one that failed with this error. */
export function isLast(error: unknown, made: number, { settings, logger }: ConsumerContext): boolean {
  if (made >= settings.retry.attempts) return true;
  try {
    return !settings.retry.when(error);
  } catch (failure) {
    logger.error("'retry.when' failed", { error: failure });
    return false;
  }
}

export function named({ delivery }: InFlightMessage): { message_id: string } {
  return { message_id: delivery.record.id };
}
