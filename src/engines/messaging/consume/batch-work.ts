import { MessagingError } from "../errors.js";
import { countIn, frameworkHeaders } from "../headers.js";
import { decisionOf, Message } from "../message.js";
import { sizeOf, tooLarge } from "../publish/size.js";
import { inTraceOf } from "../trace.js";
import { MessageTransaction, recordsOf, transactional } from "../transaction.js";
import type { Batched } from "./batches.js";
import { claimId, type HeldClaim } from "./claim.js";
import { conclude, giveBack, isLast, type RetryLater, undeliverable } from "./conclude.js";
import { cutDeadLetter, deadLetterRecord } from "./dead-letter.js";
import type { BatchRun } from "./handler.js";
import type { ConsumerContext, InFlightMessage, WorkResult } from "./in-flight-message.js";
import { type AttemptResult, failed, inTime, type Outcome, outcomeOf } from "./outcome.js";
import { deadLetterReply, rejected, sendReply } from "./reply.js";
import { pauseAfter } from "./retry.js";
import { receive } from "./work.js";

/** A delivery on its way through the handler of its batch. */
interface Unit {
  readonly inFlight: InFlightMessage;
  readonly attempts: number;
  claim: HeldClaim | null;
  message: Message | null;
  outcome: AttemptResult | null;
  end: WorkResult | RetryLater | null;
  /** True if its outcome is that of a call with other messages: the error may be that of another one. */
  shared: boolean;
}

/**
 * One attempt on a batch. Each message has its own outcome: the one that the handler chose for it, else that of the whole
 * call. Never rejects for reasons of the messages.
 */
export async function workBatch(
  batch: readonly Batched[],
  context: ConsumerContext,
  run: BatchRun,
): Promise<(WorkResult | RetryLater)[]> {
  const units = batch.map(unitOf);
  await Promise.all(units.map((unit) => prepare(unit, context, run)));
  const open = units.filter((unit) => unit.end === null && unit.outcome === null);
  const transaction = context.settings.transactional ? new MessageTransaction(context.broker) : null;
  if (open.length > 0) await call(open, context, run, transaction);
  if (transaction !== null) return commit(units, context, transaction);
  await Promise.all(units.map((unit) => endClaim(unit)));
  const ends = units.map((unit) => {
    const { inFlight, outcome, attempts, end } = unit;
    return end ?? aloneAfter(unit, outcome!) ?? conclude(inFlight, outcome!, attempts);
  });
  return announced(await Promise.all(ends), context, open[0]?.outcome);
}

function unitOf({ inFlight, attempts }: Batched): Unit {
  return { inFlight, attempts, claim: null, message: null, outcome: null, end: null, shared: false };
}

/**
 * A batch has failed for the last time, and it is unknown which of its messages is to blame: each of them has one more attempt
 * alone. Null for any other outcome.
 */
function aloneAfter({ inFlight, attempts, shared }: Unit, outcome: AttemptResult): RetryLater | null {
  if (!shared || inFlight.lost || outcome.kind !== "retry") return null;
  if (!isLast(outcome.error, attempts + 1, inFlight.consumer)) return null;
  return { attempts: attempts + 1, pause: 0, alone: true };
}

/** Logs that messages of a batch are now handled one by one. */
function announced<Ends extends readonly (WorkResult | RetryLater)[]>(
  ends: Ends,
  context: ConsumerContext,
  outcome?: AttemptResult | null,
): Ends {
  const count = ends.filter((end) => typeof end !== "string" && end.alone).length;
  if (count > 0) {
    const error = outcome?.kind === "retry" ? { error: outcome.error } : {};
    context.logger.warn(`a batch of '${context.topic}' failed: ${count} messages are handled one by one`, error);
  }
  return ends;
}

/** The outcome of one delivery without a broker: for tests. */
export async function handleAlone(inFlight: InFlightMessage, run: BatchRun, number: number): Promise<Outcome> {
  const context = inFlight.consumer;
  const unit = unitOf({ inFlight, attempts: number - 1 });
  const refused = await admit(unit, run);
  if (refused !== null) return refused;
  const transaction = context.settings.transactional ? new MessageTransaction(context.broker) : null;
  await call([unit], context, run, transaction);
  const outcome = unit.outcome as Outcome;
  if (transaction === null || (outcome.kind !== "done" && outcome.kind !== "reject")) return outcome;
  await transactional(context.broker)(recordsOf(transaction), []);
  return outcome;
}

/** Everything before the handler: a message that ends here does not reach it. */
async function prepare(unit: Unit, context: ConsumerContext, run: BatchRun): Promise<void> {
  const { inFlight, attempts } = unit;
  const before = countIn(inFlight.delivery.record.headers, frameworkHeaders.attempt);
  if (inFlight.lost) unit.end = "lost";
  else if (context.stopping.aborted) unit.end = await giveBack(inFlight, attempts, before);
  else unit.end = attempts === before ? await undeliverable(inFlight, attempts) : null;
  if (unit.end !== null) return;
  const claim = await claimId(inFlight);
  if ("kind" in claim) {
    unit.outcome = claim;
    return;
  }
  unit.claim = claim;
  unit.outcome = await admit(unit, run);
}

/** Checks the value and asks the guards; the outcome, if the message does not reach the handler. */
async function admit(unit: Unit, run: BatchRun): Promise<Outcome | null> {
  const message = await receive(unit.inFlight, unit.attempts + 1);
  if (!(message instanceof Message)) return message;
  unit.message = message;
  try {
    await run.admit?.(message);
    return null;
  } catch (error) {
    return failed(error);
  }
}

async function call(
  units: readonly Unit[],
  context: ConsumerContext,
  run: BatchRun,
  transaction: MessageTransaction | null,
): Promise<void> {
  const messages = units.map(({ message }) => message!);
  const records = units.map(({ inFlight }) => inFlight.delivery.record);
  const start = performance.now();
  for (const { inFlight } of units) inFlight.begun = start;
  await inTraceOf(records, context, null, async (span) => {
    let failure: { readonly error: unknown } | null = null;
    let value: unknown;
    const abort = (reason: unknown) => {
      for (const { inFlight } of units) inFlight.abort(reason);
    };
    try {
      value = await inTime(run.run(messages, transaction), context.deadlines, abort);
    } catch (error) {
      failure = { error };
    }
    span?.end(failure?.error ?? null);
    for (const { inFlight } of units) inFlight.begun = null;
    for (const unit of units) {
      unit.outcome = outcomeOf(unit.message!, failure, run.replies ? value : undefined);
      unit.shared = units.length > 1 && failure !== null && decisionOf(unit.message!) === null;
    }
    context.attempted(start, failure === null);
  });
}

async function endClaim({ claim, outcome }: Unit): Promise<void> {
  await claim?.end(outcome?.kind === "done" || outcome?.kind === "reject");
}

/** Ends the transaction of a batch: all its messages are handled with what was published, or none is. */
async function commit(
  units: readonly Unit[],
  context: ConsumerContext,
  transaction: MessageTransaction,
): Promise<(WorkResult | RetryLater)[]> {
  const open = units.filter((unit) => unit.end === null);
  const late = open.find(
    ({ outcome }) => outcome!.kind === "retry" || outcome!.kind === "requeue" || outcome!.kind === "busy",
  );
  if (late === undefined) {
    const failure = open.length === 0 ? null : await transact(open, context, transaction);
    if (failure === null) {
      await Promise.all(open.map((unit) => endClaim(unit)));
      for (const { inFlight, outcome } of open) replyTo(inFlight, outcome!);
      return units.map(({ outcome, end }) => end ?? resultOf(outcome!));
    }
    await Promise.all(open.map((unit) => unit.claim?.end(false)));
    context.logger.warn(`a transaction of '${context.topic}' failed: it is tried again`, { error: failure });
    const pause = pauseAfter(1, context.settings.retry);
    // Some of them may be lost. The others are still ours, and no other consumer would handle them.
    return units.map(({ end, inFlight, attempts }) => end ?? (inFlight.lost ? "lost" : { attempts, pause }));
  }
  await Promise.all(open.map((unit) => unit.claim?.end(false)));
  const { outcome } = late;
  for (const unit of open) unit.shared = open.length > 1;
  const ends = units.map(async (unit) => unit.end ?? (await again(unit, context, outcome!)));
  return announced(await Promise.all(ends), context, outcome);
}

/** The transaction was not committed: each of its messages has failed as the first of them. */
async function again(unit: Unit, context: ConsumerContext, outcome: AttemptResult): Promise<WorkResult | RetryLater> {
  const { settings } = context;
  const { inFlight, attempts } = unit;
  if (outcome.kind !== "retry") return { attempts, pause: pauseAfter(1, settings.retry) };
  if (attempts + 1 < settings.retry.attempts) {
    context.logger.warn(`a transaction of '${context.topic}' failed`, { error: outcome.error, attempt: attempts + 1 });
    return { attempts: attempts + 1, pause: outcome.delayMs ?? pauseAfter(attempts + 1, settings.retry) };
  }
  return aloneAfter(unit, outcome) ?? conclude(inFlight, outcome, attempts);
}

async function transact(
  units: readonly Unit[],
  context: ConsumerContext,
  transaction: MessageTransaction,
): Promise<unknown> {
  const { topic, settings, broker } = context;
  try {
    const dead = units.flatMap(({ inFlight, outcome, attempts }) => {
      if (outcome?.kind !== "dead" || settings.deadLetter === null) return [];
      const { reason, error } = outcome;
      const death = { topic, group: settings.group, reason, error, attempts: attempts + 1 };
      const letter = deadLetterRecord(inFlight.delivery.record, settings.deadLetter, death);
      // One that the broker refuses would fail the transaction again and again.
      return [tooLarge(letter, sizeOf(letter), broker) === null ? letter : cutDeadLetter(letter)];
    });
    const deliveries = units.map(({ inFlight }) => inFlight.delivery);
    const settled = units.map(({ inFlight }) => inFlight.begin());
    if (settled.includes(false)) throw new MessagingError("LOST", "a message of the batch belongs to another consumer");
    await transactional(broker)([...recordsOf(transaction), ...dead], deliveries);
    return null;
  } catch (error) {
    for (const { inFlight } of units) inFlight.undo();
    return error;
  }
}

function replyTo(inFlight: InFlightMessage, outcome: AttemptResult): void {
  if (outcome.kind === "done") sendReply(inFlight, { value: outcome.value });
  else if (outcome.kind === "reject") sendReply(inFlight, rejected(outcome.reason));
  else if (outcome.kind === "dead") sendReply(inFlight, deadLetterReply(outcome.error));
}

function resultOf(outcome: AttemptResult): WorkResult {
  if (outcome.kind === "dead") return "dead";
  return outcome.kind === "reject" ? "rejected" : outcome.kind === "duplicate" ? "duplicate" : "done";
}
