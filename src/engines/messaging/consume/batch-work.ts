import { MessagingError } from "../errors.js";
import { countIn, own } from "../headers.js";
import { decisionOf, Message } from "../message.js";
import { sizeOf, tooLarge } from "../publish/size.js";
import { inTraceOf } from "../trace.js";
import { MessageTransaction, recordsOf, transactional } from "../transaction.js";
import { failed, inTime, type Outcome, outcomeOf } from "./attempt.js";
import type { Batched } from "./batches.js";
import { claimId, type HeldClaim } from "./claim.js";
import { type Again, conclude, giveBack, isLast, type Once, undeliverable } from "./conclude.js";
import { cutDeadLetter, deadLetterRecord } from "./dead-letter.js";
import type { BatchRun } from "./handler.js";
import type { Held } from "./held.js";
import type { WorkPlace, WorkResult } from "./place.js";
import { receive } from "./receive.js";
import { buried, rejected, sendReply } from "./reply.js";
import { pauseAfter } from "./retry.js";

/** A delivery on its way through the handler of its batch. */
interface Unit {
  readonly held: Held;
  readonly attempts: number;
  claim: HeldClaim | null;
  message: Message | null;
  outcome: Once | null;
  end: WorkResult | Again | null;
  /** True if its outcome is that of a call with other messages: the error may be that of another one. */
  shared: boolean;
}

/**
 * One attempt on a batch. Each message has its own outcome: the one that the handler chose for it, else that of the whole
 * call. Never rejects for reasons of the messages.
 */
export async function workBatch(
  batch: readonly Batched[],
  place: WorkPlace,
  run: BatchRun,
): Promise<(WorkResult | Again)[]> {
  const units = batch.map(unitOf);
  await Promise.all(units.map((unit) => prepare(unit, place, run)));
  const open = units.filter((unit) => unit.end === null && unit.outcome === null);
  const transaction = place.settings.transactional ? new MessageTransaction(place.broker) : null;
  if (open.length > 0) await call(open, place, run, transaction);
  if (transaction !== null) return commit(units, place, transaction);
  await Promise.all(units.map((unit) => endClaim(unit)));
  const ends = units.map((unit) => {
    const { held, outcome, attempts, end } = unit;
    return end ?? aloneAfter(unit, outcome!, place) ?? conclude(held, place, outcome!, attempts);
  });
  return announced(await Promise.all(ends), place, open[0]?.outcome);
}

function unitOf({ held, attempts }: Batched): Unit {
  return { held, attempts, claim: null, message: null, outcome: null, end: null, shared: false };
}

/**
 * A batch has failed for the last time, and nobody knows which of its messages is to blame: each of them has one more attempt
 * alone. Null for any other outcome.
 */
function aloneAfter({ held, attempts, shared }: Unit, outcome: Once, place: WorkPlace): Again | null {
  if (!shared || held.lost || outcome.kind !== "retry" || !isLast(outcome.error, attempts + 1, place)) return null;
  return { attempts: attempts + 1, pause: 0, alone: true };
}

/** Logs that messages of a batch are handled one by one from now on. */
function announced<Ends extends readonly (WorkResult | Again)[]>(
  ends: Ends,
  place: WorkPlace,
  outcome?: Once | null,
): Ends {
  const count = ends.filter((end) => typeof end !== "string" && end.alone).length;
  if (count > 0) {
    const error = outcome?.kind === "retry" ? { error: outcome.error } : {};
    place.logger.warn(`a batch of '${place.topic}' failed: ${count} messages are handled one by one`, error);
  }
  return ends;
}

/** The outcome of one delivery without a broker: for tests. */
export async function handleAlone(held: Held, place: WorkPlace, run: BatchRun, number: number): Promise<Outcome> {
  const unit = unitOf({ held, attempts: number - 1 });
  const message = await receive(held, place, number);
  if (!(message instanceof Message)) return message;
  unit.message = message;
  try {
    await run.admit?.(message);
  } catch (error) {
    return failed(error);
  }
  const transaction = place.settings.transactional ? new MessageTransaction(place.broker) : null;
  await call([unit], place, run, transaction);
  const outcome = unit.outcome as Outcome;
  if (transaction === null || (outcome.kind !== "done" && outcome.kind !== "reject")) return outcome;
  await transactional(place.broker)(recordsOf(transaction), []);
  return outcome;
}

/** Everything before the handler: a message that ends here does not reach it. */
async function prepare(unit: Unit, place: WorkPlace, run: BatchRun): Promise<void> {
  const { held, attempts } = unit;
  const before = countIn(held.delivery.record.headers, own.attempt);
  if (held.lost) unit.end = "lost";
  else if (place.stopping.aborted) unit.end = await giveBack(held, place, attempts, before);
  else unit.end = attempts === before ? await undeliverable(held, place, attempts) : null;
  if (unit.end !== null) return;
  const claim = await claimId(held, place);
  if ("kind" in claim) {
    unit.outcome = claim;
    return;
  }
  unit.claim = claim;
  const message = await receive(held, place, attempts + 1);
  if (!(message instanceof Message)) {
    unit.outcome = message;
    return;
  }
  unit.message = message;
  try {
    await run.admit?.(message);
  } catch (error) {
    unit.outcome = failed(error);
  }
}

async function call(
  units: readonly Unit[],
  place: WorkPlace,
  run: BatchRun,
  transaction: MessageTransaction | null,
): Promise<void> {
  const messages = units.map(({ message }) => message!);
  const records = units.map(({ held }) => held.delivery.record);
  const start = performance.now();
  await inTraceOf(records, place, null, async (span) => {
    let failure: { readonly error: unknown } | null = null;
    let value: unknown;
    const abort = (reason: unknown) => {
      for (const { held } of units) held.abort(reason);
    };
    try {
      value = await inTime(run.run(messages, transaction), place.deadlines, abort);
    } catch (error) {
      failure = { error };
    }
    span?.end(failure?.error ?? null);
    for (const unit of units) {
      unit.outcome = outcomeOf(unit.message!, failure, run.replies ? value : undefined);
      unit.shared = units.length > 1 && failure !== null && decisionOf(unit.message!) === null;
    }
    place.attempted(start, failure === null);
  });
}

async function endClaim({ claim, outcome }: Unit): Promise<void> {
  await claim?.end(outcome?.kind === "done" || outcome?.kind === "reject");
}

/** Ends the transaction of a batch: all its messages are handled with what was published, or none is. */
async function commit(
  units: readonly Unit[],
  place: WorkPlace,
  transaction: MessageTransaction,
): Promise<(WorkResult | Again)[]> {
  const open = units.filter((unit) => unit.end === null);
  const late = open.find(
    ({ outcome }) => outcome!.kind === "retry" || outcome!.kind === "requeue" || outcome!.kind === "busy",
  );
  if (late === undefined) {
    const failure = open.length === 0 ? null : await transact(open, place, transaction);
    if (failure === null) {
      await Promise.all(open.map((unit) => endClaim(unit)));
      for (const { held, outcome } of open) replyTo(held, place, outcome!);
      return units.map(({ outcome, end }) => end ?? resultOf(outcome!));
    }
    await Promise.all(open.map((unit) => unit.claim?.end(false)));
    place.logger.warn(`a transaction of '${place.topic}' failed: it is tried again`, { error: failure });
    const pause = pauseAfter(1, place.settings.retry);
    // Some of them may be lost. The others are still ours, and nobody else would handle them.
    return units.map(({ end, held, attempts }) => end ?? (held.lost ? "lost" : { attempts, pause }));
  }
  await Promise.all(open.map((unit) => unit.claim?.end(false)));
  const { outcome } = late;
  for (const unit of open) unit.shared = open.length > 1;
  const ends = units.map(async (unit) => unit.end ?? (await again(unit, place, outcome!)));
  return announced(await Promise.all(ends), place, outcome);
}

/** The transaction was not committed: each of its messages has failed as the first of them. */
async function again(unit: Unit, place: WorkPlace, outcome: Once): Promise<WorkResult | Again> {
  const { settings } = place;
  const { held, attempts } = unit;
  if (outcome.kind !== "retry") return { attempts, pause: pauseAfter(1, settings.retry) };
  if (attempts + 1 < settings.retry.attempts) {
    place.logger.warn(`a transaction of '${place.topic}' failed`, { error: outcome.error, attempt: attempts + 1 });
    return { attempts: attempts + 1, pause: outcome.delay ?? pauseAfter(attempts + 1, settings.retry) };
  }
  return aloneAfter(unit, outcome, place) ?? conclude(held, place, outcome, attempts);
}

async function transact(units: readonly Unit[], place: WorkPlace, transaction: MessageTransaction): Promise<unknown> {
  const { topic, settings, broker } = place;
  try {
    const dead = units.flatMap(({ held, outcome, attempts }) => {
      if (outcome?.kind !== "dead" || settings.deadLetter === null) return [];
      const { reason, error } = outcome;
      const death = { topic, group: settings.group, reason, error, attempts: attempts + 1 };
      const letter = deadLetterRecord(held.delivery.record, settings.deadLetter, death);
      // One that the broker refuses would fail the transaction again and again.
      return [tooLarge(letter, sizeOf(letter), broker) === null ? letter : cutDeadLetter(letter)];
    });
    const deliveries = units.map(({ held }) => held.delivery);
    const settled = units.map(({ held }) => held.begin());
    if (settled.includes(false)) throw new MessagingError("LOST", "a message of the batch belongs to another consumer");
    await transactional(broker)([...recordsOf(transaction), ...dead], deliveries);
    return null;
  } catch (error) {
    for (const { held } of units) held.undo();
    return error;
  }
}

function replyTo(held: Held, place: WorkPlace, outcome: Once): void {
  if (outcome.kind === "done") sendReply(held, place, { value: outcome.value });
  else if (outcome.kind === "reject") sendReply(held, place, rejected(outcome.reason));
  else if (outcome.kind === "dead") sendReply(held, place, buried(outcome.error));
}

function resultOf(outcome: Once): WorkResult {
  if (outcome.kind === "dead") return "dead";
  return outcome.kind === "reject" ? "rejected" : outcome.kind === "duplicate" ? "duplicate" : "done";
}
