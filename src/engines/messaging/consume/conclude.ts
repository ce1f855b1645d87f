import { MessagingError } from "../errors.js";
import { own } from "../headers.js";
import type { Outcome } from "./attempt.js";
import { cutDeadLetter, type Death, deadLetterRecord } from "./dead-letter.js";
import type { Held } from "./held.js";
import type { WorkPlace, WorkResult } from "./place.js";
import { buried, rejected, sendReply } from "./reply.js";
import { pauseAfter } from "./retry.js";
import { sleep } from "./sleep.js";

const longestPause = 30_000;

/** The outcome of an attempt, or the reason that there was none. */
export type Once = Outcome | { readonly kind: "duplicate" } | { readonly kind: "busy"; readonly delay: number };

/** A message that was delivered again and again without a result becomes a dead letter; null for any other. */
export function undeliverable(held: Held, place: WorkPlace, attempts: number): Promise<WorkResult> | null {
  const { earlier } = held.delivery;
  if (earlier < place.settings.maxDeliveries) return null;
  const error = new Error(`delivered ${earlier} times without a result`);
  return bury(held, place, { reason: "undeliverable", error, attempts });
}

/** The message waits here for its next attempt. */
export interface Again {
  /** Attempts that were made. */
  readonly attempts: number;
  /** Milliseconds. */
  readonly pause: number;
  /** True if its batch has failed for the last time: the next attempt is for this message alone. */
  readonly alone?: boolean;
}

/** Settles a message by the outcome of an attempt, or says when the next attempt is due here. */
export function conclude(
  held: Held,
  place: WorkPlace,
  outcome: Once,
  attempts: number,
): WorkResult | Again | Promise<WorkResult | Again> {
  const { settings, logger } = place;
  if (held.lost) return "lost";
  switch (outcome.kind) {
    case "done":
    case "duplicate":
      if (outcome.kind === "done") sendReply(held, place, { value: outcome.value });
      return acknowledged(held, place, outcome.kind);
    case "reject":
      logger.info("a message was rejected", { ...named(held), reason: outcome.reason });
      sendReply(held, place, rejected(outcome.reason));
      return acknowledged(held, place, "rejected");
    case "dead":
      return bury(held, place, { ...outcome, attempts: attempts + 1 });
    case "busy":
      return later(held, place, attempts, outcome.delay, "requeued");
    case "requeue":
      return later(held, place, attempts, outcome.delay ?? pauseAfter(1, settings.retry), "requeued");
    case "retry": {
      const made = attempts + 1;
      const { error } = outcome;
      if (isLast(error, made, place)) {
        return bury(held, place, { reason: "failed", error, attempts: made });
      }
      const pause = outcome.delay ?? pauseAfter(made, settings.retry);
      const next = `attempt ${made} of ${settings.retry.attempts}; the next in ${pause / 1000} s`;
      logger.warn(`a message of '${place.topic}' failed: ${next}`, { ...named(held), error });
      return later(held, place, made, pause, "retried");
    }
  }
}

/**
 * Has the message handled again after a pause. The broker keeps it meanwhile, and the work here is over; or it waits here:
 * a message with a key does, so that those after it wait too.
 */
async function later(
  held: Held,
  place: WorkPlace,
  attempts: number,
  pause: number,
  result: WorkResult,
): Promise<WorkResult | Again> {
  const { record, retry } = held.delivery;
  if (record.key === null && retry !== undefined && pause > 0) {
    const headers = { ...record.headers, [own.attempt]: String(attempts) };
    try {
      if (await held.settle((delivery) => delivery.retry!(headers, pause))) return result;
    } catch (error) {
      place.logger.warn("a message could not be given back: it waits here", { ...named(held), error });
    }
    if (held.lost) return "lost";
  }
  return { attempts, pause };
}

/** The consumer drains: the message goes to others. Attempts that were made count if the order allows it. */
export async function giveBack(held: Held, place: WorkPlace, attempts: number, before: number): Promise<WorkResult> {
  const { record, retry } = held.delivery;
  const changed = attempts > before && record.key === null && retry !== undefined;
  const headers = { ...record.headers, [own.attempt]: String(attempts) };
  await held
    .settle((delivery) => (changed ? delivery.retry!(headers, 0) : delivery.release()))
    .catch((error: unknown) => unsettled(held, place, "given back", error));
  return "released";
}

/** Makes a dead letter of the message. It stays unsettled until the broker has the dead letter. */
async function bury(
  held: Held,
  place: WorkPlace,
  why: Pick<Death, "reason" | "error" | "attempts">,
): Promise<WorkResult> {
  const { topic, settings, logger, publisher } = place;
  const { deadLetter, group } = settings;
  const { reason, error, attempts } = why;
  const fields = { ...named(held), reason, attempts, error };
  if (deadLetter === null) logger.error(`a message of '${topic}' was dropped`, fields);
  else {
    let record = deadLetterRecord(held.delivery.record, deadLetter, { topic, group, ...why });
    let whole = true;
    held.renew();
    for (let pause = 100; ; pause = Math.min(pause * 2, longestPause)) {
      try {
        await publisher.publish(record);
        break;
      } catch (failure) {
        logger.error(`a dead letter of '${topic}' could not be stored`, { ...named(held), error: failure });
        if (whole && failure instanceof MessagingError && failure.code === "TOO_LARGE") {
          // It would be refused for ever, and the message would never end.
          record = cutDeadLetter(record);
          whole = false;
          continue;
        }
        await place.outside(() => sleep(pause, place.stopping, held.signal));
        if (held.lost) return "lost";
        if (place.stopping.aborted) return giveBack(held, place, attempts, attempts);
      }
    }
    logger.error(`a message of '${topic}' is a dead letter now: '${deadLetter}'`, fields);
  }
  sendReply(held, place, buried(error));
  return acknowledged(held, place, "dead");
}

/** Ends the message with this result; "lost" if the broker does not take the acknowledgement. */
function acknowledged(held: Held, place: WorkPlace, result: WorkResult): WorkResult | Promise<WorkResult> {
  try {
    const acked = held.ack();
    if (typeof acked === "boolean") return acked ? result : "lost";
    return acked.then(
      (ok) => (ok ? result : "lost"),
      (error: unknown) => unsettled(held, place, "acknowledged", error),
    );
  } catch (error) {
    return unsettled(held, place, "acknowledged", error);
  }
}

/** A settlement that fails leaves the message to the broker, which delivers it again; it is neither lost nor dead. */
function unsettled(held: Held, { topic, logger }: WorkPlace, how: string, error: unknown): "lost" {
  logger.warn(`a message of '${topic}' could not be ${how}: it will come again`, { ...named(held), error });
  return "lost";
}

/** True if no attempt follows the one that failed with this error. */
export function isLast(error: unknown, made: number, { settings, logger }: WorkPlace): boolean {
  if (made >= settings.retry.attempts) return true;
  try {
    return !settings.retry.when(error);
  } catch (failure) {
    logger.error("'retry.when' failed", { error: failure });
    return false;
  }
}

export function named({ delivery }: Held): { message_id: string } {
  return { message_id: delivery.record.id };
}
