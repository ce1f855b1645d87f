import { suspectAfter } from "../suspects.js";
import type { AmqpMessage } from "./amqplib.js";
import { deliveriesBefore } from "./records.js";

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
