import type { Transaction } from "../../db/database.js";
import { countIn, own } from "../headers.js";
import { Message } from "../message.js";
import type { Outcome } from "./attempt.js";
import { claimId } from "./claim.js";
import { type Again, conclude, giveBack, type Once, undeliverable } from "./conclude.js";
import type { HandlerRun } from "./handler.js";
import { type CallEnds, callHandler } from "./handler-call.js";
import type { Held } from "./held.js";
import type { InboxOutcome } from "./inbox.js";
import type { WorkPlace, WorkResult } from "./place.js";
import { receive } from "./receive.js";
import type { Ended } from "./singles.js";
import { sleep } from "./sleep.js";

type End = WorkResult | Again;

/**
 * Handles one delivery to its end: all attempts that are made here, and the settlement. Calls `ended` once, in a later turn.
 * Never throws.
 */
export function work(held: Held, place: WorkPlace, run: HandlerRun, ended: Ended): void {
  const before = countIn(held.delivery.record.headers, own.attempt);
  const settle = (end: End | Promise<End> | null): void => {
    if (typeof end === "string") ended(held, end);
    else whole(attempts(held, place, run, before, end));
  };
  const whole = (result: Promise<WorkResult>): void =>
    void result.catch((error: unknown) => place.fault(held, error)).then((known) => ended(held, known));
  const dead = undeliverable(held, place, before);
  if (dead !== null) whole(dead);
  else if (held.lost || place.stopping.aborted || place.store !== null || place.inbox !== null) settle(null);
  else {
    // Most messages end with their first attempt, and most brokers take an acknowledgement at once: without a promise then.
    const fault = (error: unknown) => whole(place.fault(held, error));
    const done = (outcome: Outcome) => {
      let end: End | Promise<End>;
      try {
        end = conclude(held, place, outcome, before);
      } catch (error) {
        fault(error);
        return;
      }
      settle(end);
    };
    handleThen(held, place, run, before + 1, undefined, { done, fault });
  }
}

/** The attempts that follow after the end of the first one; with null also that one. */
async function attempts(
  held: Held,
  place: WorkPlace,
  run: HandlerRun,
  before: number,
  first: Again | Promise<End> | null,
): Promise<WorkResult> {
  let made = before;
  for (let end: End | null = await first; ; ) {
    if (typeof end === "string") return end;
    if (end !== null) {
      const { pause } = end;
      made = end.attempts;
      // The signal of an attempt whose time was up must not end the pause.
      held.renew();
      await place.outside(() => sleep(pause, place.stopping, held.signal));
    }
    if (held.lost) return "lost";
    if (place.stopping.aborted) return giveBack(held, place, made, before);
    end = await conclude(held, place, await once(held, place, run, made + 1), made);
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

function handle(held: Held, place: WorkPlace, run: HandlerRun, number: number, tx?: Transaction): Promise<Outcome> {
  return new Promise((done, fault) => handleThen(held, place, run, number, tx, { done, fault }));
}

/** Checks the value and runs the handler, once. */
function handleThen(
  held: Held,
  place: WorkPlace,
  run: HandlerRun,
  number: number,
  tx: Transaction | undefined,
  ends: CallEnds,
): void {
  const call = (message: Message): void => {
    try {
      callHandler(message, held, place, run, ends);
    } catch (error) {
      ends.fault(error);
    }
  };
  const received = receive(held, place, number, tx);
  // Without a schema nothing has to be waited for.
  if (received instanceof Message) call(received);
  else received.then((known) => (known instanceof Message ? call(known) : ends.done(known)), ends.fault);
}
