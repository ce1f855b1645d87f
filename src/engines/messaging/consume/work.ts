import { Timed } from "../../../kit/time/deadlines.js";
import { sleep } from "../../../kit/time/within.js";
import type { Span } from "../../../kit/tracer.js";
import type { Transaction } from "../../db/database.js";
import { countIn, frameworkHeaders } from "../headers.js";
import { Message } from "../message.js";
import { inTraceOf } from "../trace.js";
import { readValue } from "../values.js";
import { claimId } from "./claim.js";
import { conclude, giveBack, type RetryLater, undeliverable } from "./conclude.js";
import type { HandlerRun } from "./handler.js";
import type { Ended, InFlightMessage, WorkResult } from "./in-flight-message.js";
import { type AttemptResult, failed, markReceived, type Outcome, outcomeOf, tookTooLong } from "./outcome.js";

type End = WorkResult | RetryLater;

/**
 * Handles one delivery to its end: all attempts that are made here, and the settlement. Calls `ended` once, in a later turn.
 * Never throws.
 */
export function work(inFlight: InFlightMessage, run: HandlerRun, ended: Ended): void {
  const { stopping, store, inbox, fault: failure } = inFlight.consumer;
  const before = countIn(inFlight.delivery.record.headers, frameworkHeaders.attempt);
  const settle = (end: End | Promise<End> | null): void => {
    if (typeof end === "string") ended(inFlight, end);
    else whole(attempts(inFlight, run, before, end));
  };
  const whole = (result: Promise<WorkResult>): void =>
    void result.catch((error: unknown) => failure(inFlight, error)).then((known) => ended(inFlight, known));
  const dead = undeliverable(inFlight, before);
  if (dead !== null) whole(dead);
  else if (inFlight.lost || stopping.aborted || store !== null || inbox !== null) settle(null);
  else {
    // Most messages end with their first attempt, and most brokers take an acknowledgement at once: without a promise then.
    const fault = (error: unknown) => whole(failure(inFlight, error));
    const done = (outcome: Outcome) => {
      let end: End | Promise<End>;
      try {
        end = conclude(inFlight, outcome, before);
      } catch (error) {
        fault(error);
        return;
      }
      settle(end);
    };
    handleThen(inFlight, run, before + 1, undefined, { done, fault });
  }
}

/** The attempts that follow after the end of the first one; with null also that one. */
async function attempts(
  inFlight: InFlightMessage,
  run: HandlerRun,
  before: number,
  first: RetryLater | Promise<End> | null,
): Promise<WorkResult> {
  const { stopping, store, withoutSlot } = inFlight.consumer;
  const handleOnce = store === null ? handleBehindInbox : handleClaimed;
  let made = before;
  for (let end: End | null = await first; ; ) {
    if (typeof end === "string") return end;
    if (end !== null) {
      const { pause } = end;
      made = end.attempts;
      // The signal of an attempt whose time was up must not end the pause.
      inFlight.renew();
      inFlight.delivery.wait?.();
      await withoutSlot(inFlight, () => sleep(pause, stopping, inFlight.signal));
    }
    if (inFlight.lost) return "lost";
    if (stopping.aborted) return giveBack(inFlight, made, before);
    end = await conclude(inFlight, await handleOnce(inFlight, run, made + 1), made);
  }
}

/** One attempt, behind the check of the message id. */
async function handleClaimed(inFlight: InFlightMessage, run: HandlerRun, number: number): Promise<AttemptResult> {
  const claim = await claimId(inFlight);
  if ("kind" in claim) return claim;
  const outcome = await handle(inFlight, run, number);
  await claim.end(outcome.kind === "done" || outcome.kind === "reject");
  return outcome;
}

/** One attempt in the transaction of the inbox, where the consumer has one. */
export function handleBehindInbox(inFlight: InFlightMessage, run: HandlerRun, number: number): Promise<AttemptResult> {
  const { settings, topic, inbox } = inFlight.consumer;
  if (inbox === null) return handle(inFlight, run, number);
  const claim = { consumer: `${settings.group}:${topic}`, id: inFlight.delivery.record.id, timeout: settings.timeout };
  return inbox.handle(claim, (tx) => handle(inFlight, run, number, tx));
}

function handle(inFlight: InFlightMessage, run: HandlerRun, number: number, tx?: Transaction): Promise<Outcome> {
  return new Promise((done, fault) => handleThen(inFlight, run, number, tx, { done, fault }));
}

/** Checks the value and runs the handler, once. */
function handleThen(
  inFlight: InFlightMessage,
  run: HandlerRun,
  number: number,
  tx: Transaction | undefined,
  ends: CallEnds,
): void {
  const call = (message: Message): void => {
    try {
      callHandler(message, inFlight, run, ends);
    } catch (error) {
      ends.fault(error);
    }
  };
  const received = receive(inFlight, number, tx);
  // Without a schema nothing has to be waited for.
  if (received instanceof Message) call(received);
  else received.then((known) => (known instanceof Message ? call(known) : ends.done(known)), ends.fault);
}

/** The message of a delivery with its value checked; or the outcome, if the value does not fit. */
export function receive(
  inFlight: InFlightMessage,
  attempt: number,
  tx?: Transaction,
): Message | Promise<Message | Outcome> {
  inFlight.renew();
  const { topic, logger, settings } = inFlight.consumer;
  const { record } = inFlight.delivery;
  const message = (value?: { readonly value: unknown }): Message =>
    new Message({ topic, record, attempt, tx, held: inFlight.attempt, logger, value });
  if (settings.schema === null) return message();
  return readValue(topic, settings.schema, record).then((value) => message({ value }), unfit);
}

const unfit = (error: unknown): Outcome => failed(markReceived(error));

/** The two ends of a call: one of the functions is called once, in a later turn. */
interface CallEnds {
  done(outcome: Outcome): void;
  /** Something other than the handler has failed. */
  fault(error: unknown): void;
}

/** Runs the handler once, within its time and in the trace of its message. */
function callHandler(message: Message, inFlight: InFlightMessage, run: HandlerRun, ends: CallEnds): void {
  const { delivery, consumer } = inFlight;
  let call: HandlerCall | undefined;
  // Only the handler runs in the trace: its end begins the next message, which must not get the baggage of this one.
  const result = inTraceOf([delivery.record], consumer, delivery, (span) => {
    call = new HandlerCall(message, inFlight, span, ends);
    return call.run(run);
  });
  call!.watch(result);
}

/** A handler that runs. Its end is told by callbacks: it runs for each message, and promises would cost twice as much. */
class HandlerCall extends Timed {
  readonly #start = performance.now();
  #over = false;

  constructor(
    private readonly message: Message,
    private readonly inFlight: InFlightMessage,
    private readonly span: Span | null,
    private readonly ends: CallEnds,
  ) {
    super();
    inFlight.begun = this.#start;
  }

  watch(result: Promise<unknown>): void {
    this.inFlight.consumer.deadlines.add(this);
    result.then(
      (value) => this.#end(null, value),
      (error: unknown) => this.#end({ error }, undefined),
    );
  }

  override expire(): void {
    const error = tookTooLong(this.inFlight.consumer.deadlines);
    this.inFlight.abort(error);
    this.#end({ error }, undefined);
  }

  run(run: HandlerRun): Promise<unknown> {
    try {
      const running = run(this.message);
      // Also a value that exists already is waited for: a thousand messages that end at once would be as many calls deep.
      return running instanceof Promise ? running : Promise.resolve(running);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #end(failure: { readonly error: unknown } | null, value: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const { deadlines, attempted } = this.inFlight.consumer;
    deadlines.remove(this);
    this.inFlight.begun = null;
    let outcome: Outcome;
    try {
      outcome = outcomeOf(this.message, failure, value);
      this.span?.end("error" in outcome ? outcome.error : null);
      attempted(this.#start, outcome.kind === "done");
    } catch (error) {
      this.ends.fault(error);
      return;
    }
    this.ends.done(outcome);
  }
}
