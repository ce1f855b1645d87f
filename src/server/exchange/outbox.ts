import type { Frame } from "./messages.js";

/** Hands a frame to the system; calls back when it was taken, also if that failed. */
export type SendFrame<Message> = (frame: Frame<Message>, done: () => void) => void;

/** The weight of a message of the usual size. */
const usual = 128;
/** The weight of all messages that may wait for a process that does not read: about as many bytes. */
export const maxWaiting = 16 * 1024 * 1024;

/**
 * Messages on their way to another process. Those of one turn of the event loop leave in one frame. While a frame has not
 * been taken, the next ones are collected.
 */
export class Outbox<Message> {
  readonly #send: SendFrame<Message>;
  readonly #max: number;
  #waiting: Message[] = [];
  #weight = 0;
  #scheduled = false;
  #sending = false;

  constructor(send: SendFrame<Message>, max: number = maxWaiting) {
    this.#send = send;
    this.#max = max;
  }

  /** False if the message was not taken: too much is waiting. */
  add(message: Message, weight: number = usual): boolean {
    if (this.#weight + weight > this.#max) return false;
    this.#weight += weight;
    this.#waiting.push(message);
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
    const messages = this.#waiting;
    this.clear();
    this.#sending = true;
    this.#send({ stoa: "shared", messages }, this.#taken);
  };

  readonly #taken = (): void => {
    this.#sending = false;
    if (this.#waiting.length > 0) this.#schedule();
  };
}
