import type { Logger } from "../../../internal/logger.js";
import type { Tracer } from "../../../internal/tracer.js";
import type { Transaction } from "../../db/database.js";
import { countIn, own } from "../headers.js";
import { Message } from "../message.js";
import type { Publisher } from "../publish/publisher.js";
import { inTraceOf } from "../trace.js";
import { checkIncoming, decodeValue } from "../values.js";
import { attempt, failed, markReceived, type Outcome } from "./attempt.js";
import { type Death, deadLetterRecord } from "./dead-letter.js";
import type { HandlerRun } from "./handler.js";
import type { Held } from "./held.js";
import type { Inbox, InboxOutcome } from "./inbox.js";
import type { Lanes } from "./lanes.js";
import type { ConsumerSettings } from "./options.js";
import type { Claim, ProcessedStore } from "./processed.js";
import { pauseAfter } from "./retry.js";
import { sleep } from "./sleep.js";

/** The end of a delivery, for metrics. */
export type WorkResult = "done" | "retried" | "requeued" | "rejected" | "dead" | "duplicate" | "released" | "lost";

/** The parts of a consumer that the work on one delivery uses. */
export interface WorkPlace {
  readonly topic: string;
  readonly settings: ConsumerSettings;
  readonly run: HandlerRun;
  readonly lanes: Lanes;
  readonly publisher: Publisher;
  readonly store: ProcessedStore | null;
  readonly inbox: Inbox | null;
  readonly logger: Logger;
  /** Aborted when the consumer drains. */
  readonly stopping: AbortSignal;
  readonly tracer: () => Tracer | null;
  /** Called after each attempt, with its time in seconds. */
  readonly attempted: (seconds: number, ok: boolean) => void;
}

/** Milliseconds of a claim on a message id; renewed while the handler runs. */
const lease = 30_000;
const busyPause = 1000;
const longestPause = 30_000;

/** Handles one delivery to its end: all attempts that are made here, and the settlement. Never rejects. */
export async function work(held: Held, place: WorkPlace): Promise<WorkResult> {
  const { settings, logger } = place;
  const { record, earlier } = held.delivery;
  const before = countIn(record.headers, own.attempt);
  let attempts = before;
  if (earlier >= settings.maxDeliveries) {
    const error = new Error(`delivered ${earlier} times without a result`);
    return bury(held, place, { reason: "undeliverable", error, attempts });
  }
  for (;;) {
    if (held.lost) return "lost";
    if (place.stopping.aborted) return giveBack(held, place, attempts, before);
    const outcome = await once(held, place, attempts + 1);
    if (held.lost) return "lost";
    switch (outcome.kind) {
      case "done":
      case "duplicate":
        return (await settled(held, place, "acknowledged", (delivery) => delivery.ack())) ? outcome.kind : "lost";
      case "reject":
        logger.info("a message was rejected", { ...named(held), reason: outcome.reason });
        return (await settled(held, place, "acknowledged", (delivery) => delivery.ack())) ? "rejected" : "lost";
      case "dead":
        return bury(held, place, { ...outcome, attempts: attempts + 1 });
      case "busy":
        if (await later(held, place, attempts, outcome.delay)) return "requeued";
        break;
      case "requeue":
        if (await later(held, place, attempts, outcome.delay ?? pauseAfter(1, settings.retry))) return "requeued";
        break;
      case "retry": {
        attempts++;
        const { error } = outcome;
        if (attempts >= settings.retry.attempts || !canRetry(error, place)) {
          return bury(held, place, { reason: "failed", error, attempts });
        }
        const pause = outcome.delay ?? pauseAfter(attempts, settings.retry);
        const next = `attempt ${attempts} of ${settings.retry.attempts}; the next in ${pause / 1000} s`;
        logger.warn(`a message of '${place.topic}' failed: ${next}`, { ...named(held), error });
        if (await later(held, place, attempts, pause)) return "retried";
      }
    }
  }
}

/** One attempt, behind the check of the message id. */
async function once(held: Held, place: WorkPlace, number: number): Promise<InboxOutcome> {
  const { settings, store } = place;
  if (store === null) return handleBehindInbox(held, place, number);
  const id = `${settings.group}:${place.topic}:${held.delivery.record.id}`;
  let claim: Claim | "done" | "busy";
  try {
    claim = await store.begin(id, lease);
  } catch (error) {
    // Without the store nobody knows if the message has been handled: the handler must not run.
    place.logger.warn("the store of message ids does not respond", { ...named(held), error });
    return { kind: "busy", delay: busyPause };
  }
  if (claim === "done") return { kind: "duplicate" };
  if (claim === "busy") return { kind: "busy", delay: busyPause };
  const renewal = setInterval(() => void renew(held, claim as Claim), lease / 3);
  const outcome = await handle(held, place, number);
  clearInterval(renewal);
  const handled = outcome.kind === "done" || outcome.kind === "reject";
  try {
    await (handled ? claim.done(settings.idempotent!.keep) : claim.release());
  } catch (error) {
    // The handler has run: the message is done, though a second delivery would not be noticed.
    place.logger.warn("the store of message ids does not respond", { ...named(held), error });
  }
  return outcome;
}

/** One attempt in the transaction of the inbox, where the consumer has one. */
export function handleBehindInbox(held: Held, place: WorkPlace, number: number): Promise<InboxOutcome> {
  const { settings, topic, inbox } = place;
  if (inbox === null) return handle(held, place, number);
  const claim = { consumer: `${settings.group}:${topic}`, id: held.delivery.record.id, timeout: settings.timeout };
  return inbox.handle(claim, (tx) => handle(held, place, number, tx));
}

async function renew(held: Held, claim: Claim): Promise<void> {
  const kept = await claim.renew(lease).catch(() => true);
  if (!kept) held.lose();
}

/** Checks the value and runs the handler, once. */
async function handle(held: Held, place: WorkPlace, number: number, tx?: Transaction): Promise<Outcome> {
  const { settings, topic } = place;
  const { record } = held.delivery;
  held.renew();
  let value: { readonly value: unknown } | undefined;
  if (settings.schema !== null) {
    try {
      const decoded = decodeValue(record.body, record.headers[own.contentType]);
      value = { value: await checkIncoming(topic, settings.schema, decoded, record.body) };
    } catch (error) {
      return failed(markReceived(error));
    }
  }
  let log: Logger | null = null;
  const message = new Message({
    topic,
    record,
    attempt: number,
    tx,
    signal: () => held.signal,
    log: () => (log ??= place.logger.child({ topic, message_id: record.id, attempt: number })),
    ...(value && { value }),
  });
  const attributes = { "messaging.destination.name": topic, "messaging.message.id": record.id };
  const start = performance.now();
  return inTraceOf(record.headers, place.tracer(), { name: `${topic} process`, attributes }, async (span) => {
    const outcome = await attempt(message, place.run, settings.timeout, (reason) => held.abort(reason));
    span?.end("error" in outcome ? outcome.error : null);
    place.attempted((performance.now() - start) / 1000, outcome.kind === "done");
    return outcome;
  });
}

/**
 * Has the message handled again after a pause. True if the broker keeps it meanwhile; then the work here is over. A message
 * with a key waits here, so that those after it wait too.
 */
async function later(held: Held, place: WorkPlace, attempts: number, pause: number): Promise<boolean> {
  const { record, retry } = held.delivery;
  if (record.key === null && retry !== undefined && pause > 0) {
    const headers = { ...record.headers, [own.attempt]: String(attempts) };
    try {
      if (await held.settle((delivery) => delivery.retry!(headers, pause))) return true;
    } catch (error) {
      place.logger.warn("a message could not be given back: it waits here", { ...named(held), error });
    }
    if (held.lost) return false;
  }
  // The signal of an attempt whose time was up must not end the pause.
  held.renew();
  await place.lanes.outside(() => sleep(pause, place.stopping, held.signal));
  return false;
}

/** The consumer drains: the message goes to others. Attempts that were made count if the order allows it. */
async function giveBack(held: Held, place: WorkPlace, attempts: number, before: number): Promise<WorkResult> {
  const { record, retry } = held.delivery;
  const changed = attempts > before && record.key === null && retry !== undefined;
  const headers = { ...record.headers, [own.attempt]: String(attempts) };
  await settled(held, place, "given back", (delivery) => (changed ? delivery.retry!(headers, 0) : delivery.release()));
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
    const record = deadLetterRecord(held.delivery.record, deadLetter, { topic, group, ...why });
    held.renew();
    for (let pause = 100; ; pause = Math.min(pause * 2, longestPause)) {
      try {
        await publisher.publish(record);
        break;
      } catch (failure) {
        logger.error(`a dead letter of '${topic}' could not be stored`, { ...named(held), error: failure });
        await place.lanes.outside(() => sleep(pause, place.stopping, held.signal));
        if (held.lost) return "lost";
        if (place.stopping.aborted) return giveBack(held, place, attempts, attempts);
      }
    }
    logger.error(`a message of '${topic}' is a dead letter now: '${deadLetter}'`, fields);
  }
  return (await settled(held, place, "acknowledged", (delivery) => delivery.ack())) ? "dead" : "lost";
}

/** A settlement that fails leaves the message to the broker, which delivers it again; it is neither lost nor dead. */
async function settled(
  held: Held,
  place: WorkPlace,
  how: string,
  settle: Parameters<Held["settle"]>[0],
): Promise<boolean> {
  try {
    return await held.settle(settle);
  } catch (error) {
    place.logger.warn(`a message of '${place.topic}' could not be ${how}: it will come again`, {
      ...named(held),
      error,
    });
    return false;
  }
}

function canRetry(error: unknown, { settings, logger }: WorkPlace): boolean {
  try {
    return settings.retry.when(error);
  } catch (failure) {
    logger.error("'retry.when' failed", { error: failure });
    return true;
  }
}

function named({ delivery }: Held): { message_id: string } {
  return { message_id: delivery.record.id };
}
