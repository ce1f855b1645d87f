import type { Span } from "../../../internal/tracer.js";
import type { Message } from "../message.js";
import { inTraceOf } from "../trace.js";
import { type Outcome, outcomeOf, tookTooLong } from "./attempt.js";
import { TimedCall } from "./deadlines.js";
import type { HandlerRun } from "./handler.js";
import type { Held } from "./held.js";
import type { WorkPlace } from "./place.js";

/** The two ends of a call: one of the functions is called once, in a later turn. */
export interface CallEnds {
  done(outcome: Outcome): void;
  /** Something other than the handler has failed. */
  fault(error: unknown): void;
}

/** Runs the handler once, within its time and in the trace of its message. */
export function callHandler(message: Message, held: Held, place: WorkPlace, run: HandlerRun, ends: CallEnds): void {
  const { record } = held.delivery;
  let call: HandlerCall | undefined;
  // Only the handler runs in the trace: its end begins the next message, which must not get the baggage of this one.
  const result = inTraceOf([record], place, record.id, (span) => {
    call = new HandlerCall(message, held, place, span, ends);
    return call.run(run);
  });
  call!.watch(result);
}

/** A handler that runs. Its end is told by callbacks: it runs for each message, and promises would cost twice as much. */
class HandlerCall extends TimedCall {
  readonly #message: Message;
  readonly #held: Held;
  readonly #place: WorkPlace;
  readonly #span: Span | null;
  readonly #ends: CallEnds;
  readonly #start = performance.now();
  #over = false;

  constructor(message: Message, held: Held, place: WorkPlace, span: Span | null, ends: CallEnds) {
    super();
    this.#message = message;
    this.#held = held;
    this.#place = place;
    this.#span = span;
    this.#ends = ends;
  }

  watch(result: Promise<unknown>): void {
    this.#place.deadlines.add(this, this.#start);
    result.then(
      (value) => this.#end(null, value),
      (error: unknown) => this.#end({ error }, undefined),
    );
  }

  override late(): void {
    const error = tookTooLong(this.#place.deadlines);
    this.#held.abort(error);
    this.#end({ error }, undefined);
  }

  run(run: HandlerRun): Promise<unknown> {
    try {
      const running = run(this.#message);
      // Also a value that is there already is waited for: a thousand messages that end at once would be as many calls deep.
      return running instanceof Promise ? running : Promise.resolve(running);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #end(failure: { readonly error: unknown } | null, value: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const { deadlines, attempted } = this.#place;
    deadlines.remove(this);
    let outcome: Outcome;
    try {
      outcome = outcomeOf(this.#message, failure, value);
      this.#span?.end("error" in outcome ? outcome.error : null);
      attempted(this.#start, outcome.kind === "done");
    } catch (error) {
      this.#ends.fault(error);
      return;
    }
    this.#ends.done(outcome);
  }
}
