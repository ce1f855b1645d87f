import type { KafkaStream } from "./library.js";

/**
 * Lets the messages of a stream come, or holds them. It is asked after each message: a stream that is held flows again once per
 * turn of the event loop, with as many messages as there is room for, and not with one message for each that has ended.
 */
export class StreamFlow {
  readonly #wanted: () => boolean;
  #stream: KafkaStream | null = null;
  #flows = false;
  #due = false;

  /** @param wanted true while messages may come */
  constructor(wanted: () => boolean) {
    this.#wanted = wanted;
  }

  attach(stream: KafkaStream): void {
    this.#stream = stream;
    this.#flows = this.#wanted();
    if (this.#flows) stream.resume();
    else stream.pause();
  }

  detach(): void {
    this.#stream = null;
    this.#flows = false;
  }

  update(): void {
    if (this.#stream === null || this.#wanted() === this.#flows) return;
    if (this.#flows) {
      this.#flows = false;
      this.#stream.pause();
    } else if (!this.#due) {
      this.#due = true;
      setImmediate(() => this.#resume());
    }
  }

  #resume(): void {
    this.#due = false;
    if (this.#stream === null || this.#flows || !this.#wanted()) return;
    this.#flows = true;
    this.#stream.resume();
  }
}
