import type { Transaction } from "../../db/database.js";
import { countIn, own } from "../headers.js";
import { Message } from "../message.js";
import { inTraceOf } from "../trace.js";
import { type Outcome, outcomeInTime, outcomeOf } from "./attempt.js";
import { claimId } from "./claim.js";
import { conclude, giveBack, type Once, undeliverable } from "./conclude.js";
import type { HandlerRun } from "./handler.js";
import type { Held } from "./held.js";
import type { InboxOutcome } from "./inbox.js";
import type { WorkPlace, WorkResult } from "./place.js";
import { receive } from "./receive.js";
import { sleep } from "./sleep.js";

/** Handles one delivery to its end: all attempts that are made here, and the settlement. Never rejects. */
export async function work(held: Held, place: WorkPlace, run: HandlerRun): Promise<WorkResult> {
  const before = countIn(held.delivery.record.headers, own.attempt);
  const dead = undeliverable(held, place, before);
  if (dead !== null) return dead;
  for (let attempts = before; ; ) {
    if (held.lost) return "lost";
    if (place.stopping.aborted) return giveBack(held, place, attempts, before);
    const concluded = conclude(held, place, await once(held, place, run, attempts + 1), attempts);
    // Most brokers take an acknowledgement at once.
    const end = concluded instanceof Promise ? await concluded : concluded;
    if (typeof end === "string") return end;
    attempts = end.attempts;
    // The signal of an attempt whose time was up must not end the pause.
    held.renew();
    await place.outside(() => sleep(end.pause, place.stopping, held.signal));
  }
}

/** One attempt, behind the check of the message id. */
function once(held: Held, place: WorkPlace, run: HandlerRun, number: number): Promise<Once> {
  return (place.store === null ? handleBehindInbox : handleClaimed)(held, place, run, number);
}

async function handleClaimed(held: Held, place: WorkPlace, run: HandlerRun, number: number): Promise<Once> {
  const claim = await claimId(held, place);
  if ("kind" in claim) return claim;
  const outcome = await handle(held, place, run, number);
  await claim.end(outcome.kind === "done" || outcome.kind === "reject");
  return outcome;
}

/** One attempt in the transaction of the inbox, where the consumer has one. */
export function handleBehindInbox(
  held: Held,
  place: WorkPlace,
  run: HandlerRun,
  number: number,
): Promise<InboxOutcome> {
  const { settings, topic, inbox } = place;
  if (inbox === null) return handle(held, place, run, number);
  const claim = { consumer: `${settings.group}:${topic}`, id: held.delivery.record.id, timeout: settings.timeout };
  return inbox.handle(claim, (tx) => handle(held, place, run, number, tx));
}

/** Checks the value and runs the handler, once. */
function handle(held: Held, place: WorkPlace, run: HandlerRun, number: number, tx?: Transaction): Promise<Outcome> {
  const received = receive(held, place, number, tx);
  // Without a schema nothing has to be waited for.
  if (received instanceof Message) return attempt(received, held, place, run);
  return received.then((message) => (message instanceof Message ? attempt(message, held, place, run) : message));
}

/** Runs the handler once, within its time and in the trace of its message. */
function attempt(message: Message, held: Held, place: WorkPlace, run: HandlerRun): Promise<Outcome> {
  const { record } = held.delivery;
  const start = performance.now();
  return inTraceOf([record], place, record.id, (span) => {
    const ended = (failure: { readonly error: unknown } | null, value: unknown): Outcome => {
      const outcome = outcomeOf(message, failure, value);
      span?.end("error" in outcome ? outcome.error : null);
      place.attempted((performance.now() - start) / 1000, outcome.kind === "done");
      return outcome;
    };
    return outcomeInTime(
      () => run(message),
      place.deadlines,
      (reason) => held.abort(reason),
      ended,
    );
  });
}
