import type { AmqpMessage } from "./amqplib.js";
import { deliveriesBefore } from "./records.js";

/** Deliveries without a result after which a message is a suspect. The first may be the loss of a connection. */
const suspectAfter = 2;

/**
 * True for a message that may have killed its process. Its queue counts all messages that the process had taken over, and not
 * only those whose handlers ran. So a suspect is moved to a queue from which each process takes one message at a time, when no other
 * handler of the consumer runs: the count of that queue is the count of deaths that this message has caused.
 */
export function isSuspect(message: AmqpMessage): boolean {
  if (!message.fields.redelivered) return false;
  // Classic queues do not count.
  return (deliveriesBefore(message) ?? suspectAfter) >= suspectAfter;
}

/** Times that a suspect was delivered before without a result; 0 for one that has not been handled alone yet. */
export function earlierOf(message: AmqpMessage): number {
  const alone = message.fields.redelivered ? (deliveriesBefore(message) ?? 0) : 0;
  return alone === 0 ? 0 : suspectAfter + alone;
}

/** Runs one function at a time: suspects of several consumers must not be handled together either. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
