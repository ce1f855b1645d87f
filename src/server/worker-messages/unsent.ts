import type { Frame } from "./messages.js";

/** Hands a frame to the system; calls back when it was taken, also if that failed. */
export type SendFrame<Message> = (frame: Frame<Message>, done: () => void) => void;

/** The weight of a value that is not text. */
const small = 16;
/** The weight of one frame. More messages leave in the next one, when this one has been taken. */
const maxFrame = 1024 * 1024;
/** The weight of all messages that may wait for a process that does not read: about as many bytes. */
export const maxWaiting = 16 * 1024 * 1024;

/**
 * Messages on their way to another process. Those of one turn of the event loop leave in one frame. While a frame has not
 * been taken, the next ones are collected.
 */
export class Outbox<Message> {
  readonly #send: SendFrame<Message>;
  readonly #max: number;
  #waiting: { readonly message: Message; readonly weight: number }[] = [];
  #weight = 0;
  #scheduled = false;
  #sending = false;

  constructor(send: SendFrame<Message>, max: number = maxWaiting) {
    this.#send = send;
    this.#max = max;
  }

  /** False if the message was not taken: too much is waiting. */
  add(message: Message, given = 0): boolean {
    const weight = Math.max(given, weightOf(message));
    if (this.#weight + weight > this.#max) return false;
    this.#weight += weight;
    this.#waiting.push({ message, weight });
    this.#schedule();
    return true;
  }

  /** Drops everything that waits. */
  clear(): void {
    this.#waiting = [];
    this.#weight = 0;
  }

  #schedule(): void {
    if (this.#scheduled || this.#sending) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#waiting.length === 0) return;
    const messages: Message[] = [];
    let frame = 0;
    for (const { message, weight } of this.#waiting) {
      if (messages.length > 0 && frame + weight > maxFrame) break;
      frame += weight;
      messages.push(message);
    }
    this.#waiting = this.#waiting.slice(messages.length);
    this.#weight -= frame;
    this.#sending = true;
    try {
      this.#send({ stoa: "shared", messages }, this.#taken);
    } catch {
      // A frame that cannot be sent must not end the process: its messages fail for want of a reply.
      this.#taken();
    }
  };

  readonly #taken = (): void => {
    this.#sending = false;
    if (this.#waiting.length > 0) this.#schedule();
  };
}

/** About the characters of a value as JSON. Text counts by its length, so that this takes no time in proportion to it. */
function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length + small;
  if (typeof value !== "object" || value === null) return small;
  let weight = small;
  for (const [key, item] of Object.entries(value)) weight += key.length + weightOf(item);
  return weight;
}
