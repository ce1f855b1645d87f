import { isInstance } from "../../../errors/describe.js";
import { type Deadlines, Expiry } from "../../../kit/time/deadlines.js";
import { MessagingError } from "../errors.js";
import { type Decision, decisionOf, type Message } from "../message.js";
import { InvalidValueError, UndecodableError } from "../values.js";
import { RefusedError } from "./handler.js";

/**
 * Reasons of dead letters.
 * - failed: the last attempt failed.
 * - invalid: the value does not fit its schema, or is not JSON.
 * - refused: a guard refused the message.
 * - handler: the handler called `deadLetter()`.
 * - undeliverable: it was delivered again and again without a result, as to processes that were killed.
 * - unreadable: the bytes at its place are no messages, or too many.
 */
export type DeadReason = "failed" | "invalid" | "refused" | "handler" | "undeliverable" | "unreadable";

/** The result of one attempt. A delay is null for the pause of the retry options. */
export type Outcome =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "retry"; readonly error: unknown; readonly delayMs: number | null }
  | { readonly kind: "requeue"; readonly delayMs: number | null }
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "dead"; readonly reason: DeadReason; readonly error: unknown };

/** The outcome of an attempt, or the reason that there was none. */
export type AttemptResult =
  | Outcome
  /** The message has been handled already. */
  | { readonly kind: "duplicate" }
  /** Another process handles the message, or a store does not respond. Not counted as an attempt. */
  | { readonly kind: "busy"; readonly delayMs: number };

/** The outcome for a message whose handler has ended: the choice of the handler, its error, or its value. */
export function outcomeOf(message: Message, failure: { readonly error: unknown } | null, value: unknown): Outcome {
  const decision = decisionOf(message);
  if (decision !== null) {
    if (failure !== null) {
      message.log.warn("a handler failed after it had chosen the result of its message", {
        error: failure.error,
        result: decision.kind,
      });
    }
    return decided(decision, value);
  }
  return failure === null ? { kind: "done", value } : failed(failure.error);
}

/** The outcome of an error. */
export function failed(error: unknown): Outcome {
  if (isInstance(error, UndecodableError) || isInvalidInput(error)) return { kind: "dead", reason: "invalid", error };
  if (isInstance(error, RefusedError)) return { kind: "dead", reason: "refused", error };
  return { kind: "retry", error, delayMs: null };
}

/** Marks the errors of received values: a handler that publishes a wrong value itself gives the same class. */
const received = new WeakSet<InvalidValueError>();

export function markReceived(error: unknown): unknown {
  if (error instanceof InvalidValueError) received.add(error);
  return error;
}

function isInvalidInput(error: unknown): boolean {
  return isInstance(error, InvalidValueError) && received.has(error);
}

function decided(decision: Decision, value: unknown): Outcome {
  switch (decision.kind) {
    case "ack":
      return { kind: "done", value };
    case "nack":
      return { kind: "retry", error: new Error(decision.reason), delayMs: decision.delayMs };
    case "requeue":
      return { kind: "requeue", delayMs: decision.delayMs };
    case "reject":
      return { kind: "reject", reason: decision.reason };
    case "deadLetter":
      return { kind: "dead", reason: "handler", error: new Error(decision.reason) };
  }
}

/** The result of a handler; rejects and aborts when the time is up. */
export function inTime(running: unknown, deadlines: Deadlines, abort: (reason: unknown) => void): unknown {
  if (!(running instanceof Promise) || deadlines.milliseconds === 0) return running;
  return new Promise((resolve, reject) => {
    const call = new Expiry(() => {
      const error = tookTooLong(deadlines);
      abort(error);
      reject(error);
    });
    deadlines.add(call);
    running.then(resolve, reject).finally(() => deadlines.remove(call));
  });
}

export function tookTooLong({ milliseconds }: Deadlines): MessagingError {
  return new MessagingError("TIMEOUT", `the handler took longer than ${milliseconds / 1000} s`);
}
