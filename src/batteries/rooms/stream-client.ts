import type { SseEvent } from "../../http/sse.js";
import { type BufferLimits, ClientBuffer, type Delivery, messageOverhead, type RoomClient } from "./client.js";

const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** An event stream in a room: an iterator of events, which the response reads as fast as the client does. */
export class StreamClient implements RoomClient, AsyncIterableIterator<SseEvent> {
  readonly #buffer: ClientBuffer<SseEvent>;
  readonly #onEnd: () => void;
  #waiter: ((result: IteratorResult<SseEvent>) => void) | null = null;
  #isEnding = false;

  /** `onEnd` is called once, when the stream ends, for any reason. */
  constructor(limits: BufferLimits, onEnd: () => void) {
    this.#buffer = new ClientBuffer(limits);
    this.#onEnd = onEnd;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  deliver(delivery: Delivery): void {
    this.#push({ id: delivery.id, data: delivery.text }, delivery.text.length);
  }

  missed(): void {
    this.#push({ event: "gap", data: "" }, 0);
  }

  drained(): Promise<void> | null {
    return this.#buffer.drained();
  }

  next(): Promise<IteratorResult<SseEvent>> {
    const event = this.#buffer.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#isEnding) return Promise.resolve(over);
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }

  return(): Promise<IteratorResult<SseEvent>> {
    this.end();
    return Promise.resolve(over);
  }

  /** Ends the stream. Events that wait are dropped: the client asks for them when it comes back. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#buffer.clear();
    this.#waiter?.(over);
    this.#waiter = null;
    this.#onEnd();
  }

  #push(event: SseEvent, size: number): void {
    if (this.#isEnding) return;
    if (this.#waiter !== null) {
      const resolve = this.#waiter;
      this.#waiter = null;
      resolve({ done: false, value: event });
    } else if (!this.#buffer.push(event, size + messageOverhead)) this.end();
  }
}
