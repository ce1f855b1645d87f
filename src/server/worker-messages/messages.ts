/**
 * The messages between a worker and its supervisor about shared state. They travel as JSON over the channel that
 * node:cluster has anyway, many in one frame. A separate Unix socket was measured: with a frame for each turn of the
 * event loop it costs the same (3 microseconds for each of ten messages in a frame, on either side).
 */

/** From a worker. A request has an identifier above 0; a reply to the supervisor's question has that of it, below 0. */
export type WorkerMessage =
  | readonly [id: number, service: string, data: unknown]
  | readonly [question: number, answer: unknown];

/** From the supervisor: the reply to a request, or, with an identifier of 0 or below, its own message or question. */
export type SupervisorMessage =
  | readonly [id: number, isFine: 0 | 1, value: unknown]
  | readonly [question: number, service: string, data: unknown];

export interface Frame<Message> {
  readonly stoa: "shared";
  readonly messages: readonly Message[];
}

/** True if the message is a frame of lists that begin with a number. */
export function isFrame(message: unknown): message is Frame<never> {
  if (typeof message !== "object" || message === null) return false;
  const { stoa, messages } = message as { stoa?: unknown; messages?: unknown };
  return stoa === "shared" && Array.isArray(messages) && messages.every(hasIdentifier);
}

function hasIdentifier(message: unknown): boolean {
  return Array.isArray(message) && typeof message[0] === "number";
}

/** An error in the other process, or the absence of a reply. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError";
}
