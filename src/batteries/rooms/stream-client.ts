import type { SseEvent } from "../../http/sse.js";
import { type BufferLimits, ClientBuffer, type Delivery, messageOverhead, type RoomClient } from "./client.js";

const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

interface Waiter<Item> {
  readonly resolve: (result: IteratorResult<Item>) => void;
  readonly reject: (error: unknown) => void;
}

/** A client that takes messages one by one, as fast as it likes. */
abstract class Stream<Item> implements RoomClient, AsyncIterableIterator<Item> {
  readonly #buffer: ClientBuffer<Item>;
  readonly #onEnd: () => void;
  readonly #waiters: Waiter<Item>[] = [];
  #error: { readonly error: unknown } | null = null;
  #isEnding = false;

  /** `onEnd` is called once, when the stream ends, for any reason. */
  constructor(limits: BufferLimits, onEnd: () => void) {
    this.#buffer = new ClientBuffer(limits);
    this.#onEnd = onEnd;
  }

  abstract deliver(delivery: Delivery): void;
  abstract missed(): void;
  abstract tell(event: string, data: string): void;
  /** It takes messages slower than they are sent, and has been told to end for that. */
  protected abstract late(): void;

  [Symbol.asyncIterator](): this {
    return this;
  }

  drained(): Promise<void> | null {
    return this.#buffer.drained();
  }

  next(): Promise<IteratorResult<Item>> {
    const item = this.#buffer.shift();
    if (item !== undefined) return Promise.resolve({ done: false, value: item });
    if (this.#error !== null) {
      const { error } = this.#error;
      this.#error = null;
      return Promise.reject(error);
    }
    if (this.#isEnding) return Promise.resolve(over);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<Item>> {
    this.#error = null;
    this.end();
    return Promise.resolve(over);
  }

  /** Ends the stream. What waits is dropped. */
  end(): void {
    this.#buffer.clear();
    this.#end();
  }

  /** Ends the stream with an error, after what waits. */
  fail(error: unknown): void {
    if (this.#isEnding) return;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#error = { error };
    else waiter.reject(error);
    this.#end();
  }

  protected push(item: Item, size: number): void {
    if (this.#isEnding) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) waiter.resolve({ done: false, value: item });
    else if (!this.#buffer.push(item, size + messageOverhead)) this.late();
  }

  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    for (const { resolve } of this.#waiters.splice(0)) resolve(over);
    this.#onEnd();
  }
}

/** An event stream in a room: the response reads it as fast as its client does. A client that comes back asks for the rest. */
export class StreamClient extends Stream<SseEvent> {
  deliver({ id, text }: Delivery): void {
    this.push({ id, data: text }, text.length);
  }

  missed(): void {
    this.push({ event: "gap", data: "" }, 0);
  }

  tell(event: string, data: string): void {
    this.push({ event, data }, data.length);
  }

  protected late(): void {
    this.end();
  }
}

/** Code of the application in a room. It learns by an error that it has not got everything. */
export class Subscription<Data> extends Stream<Data> {
  readonly #filter: ((data: Data) => boolean) | undefined;

  constructor(limits: BufferLimits, filter: ((data: Data) => boolean) | undefined, onEnd: () => void) {
    super({ ...limits, onSlow: "disconnect" }, onEnd);
    this.#filter = filter;
  }

  deliver(delivery: Delivery): void {
    try {
      const data = delivery.data as Data;
      if (this.#filter === undefined || this.#filter(data)) this.push(data, delivery.text.length);
    } catch (error) {
      this.fail(error);
    }
  }

  missed(): void {
    this.fail(new Error("messages of the room were lost"));
  }

  tell(): void {}

  protected late(): void {
    this.fail(new Error("the subscriber takes messages slower than they are sent"));
  }
}
