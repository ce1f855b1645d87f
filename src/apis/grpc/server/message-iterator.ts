import type { Exchange } from "./exchange.js";

/** The messages of a client that sends a stream, as the handler iterates them. */
export class MessageIterator implements AsyncIterableIterator<unknown> {
  readonly #exchange: Exchange;
  #done = false;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Several calls at once are served one after the other. */
  next(): Promise<IteratorResult<unknown>> {
    const turn = this.#waiting === 0 ? this.#take() : this.#last.then(() => this.#take());
    this.#waiting++;
    const settled = (): void => {
      this.#waiting--;
    };
    this.#last = turn.then(settled, settled);
    return turn;
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#done = true;
    this.#exchange.incoming.discard();
    return { done: true, value: undefined };
  }

  async #take(): Promise<IteratorResult<unknown>> {
    if (this.#done) return { done: true, value: undefined };
    const frame = await this.#exchange.incoming.next();
    // The end of a stream of Connect is a frame of its own.
    if (frame === null || (frame.flags & 2) !== 0) {
      this.#done = true;
      return { done: true, value: undefined };
    }
    return { done: false, value: await this.#exchange.decode(frame) };
  }
}
