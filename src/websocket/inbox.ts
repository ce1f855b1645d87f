import type { Message } from "./message.js";

/** The cost of a waiting message beside its bytes: empty messages must count too. */
const overhead = 64;

/** The source of the messages. It can be paused. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * Messages received and not yet taken. If too many bytes wait, reading from the peer is paused until some are taken.
 */
export class Inbox {
  readonly #messages: { readonly message: Message; readonly cost: number }[] = [];
  readonly #takers: ((message: Message | null) => void)[] = [];
  #cost = 0;
  #paused = false;
  #wasPaused = false;
  #ended = false;
  #onEmpty: (() => void) | null = null;

  constructor(
    private readonly flow: Flow,
    private readonly limit: number,
  ) {}

  /** The bytes that wait. They can exceed the limit by those that had arrived when reading was paused. */
  get cost(): number {
    return this.#cost;
  }

  /** True if reading is paused, or was paused since the last call. */
  wasPaused(): boolean {
    const was = this.#wasPaused;
    this.#wasPaused = this.#paused;
    return was;
  }

  put(message: Message, size: number): void {
    if (this.#ended) return;
    const taker = this.#takers.shift();
    if (taker) {
      taker(message);
      return;
    }
    const cost = size + overhead;
    this.#messages.push({ message, cost });
    this.#cost += cost;
    if (this.#cost > this.limit && !this.#paused) {
      this.#paused = true;
      this.#wasPaused = true;
      this.flow.pause();
    }
  }

  /** The next message; null when there will be none. */
  take(): Promise<Message | null> {
    return this.takeAs(itself);
  }

  /** The next message, converted by `as`: one promise less than with `then`. */
  takeAs<T>(as: (message: Message | null) => T): Promise<T> {
    const next = this.#messages.shift();
    if (next) {
      this.#cost -= next.cost;
      if (this.#paused && this.#cost <= this.limit / 2) this.#resume();
      if (this.#onEmpty !== null) this.#checkEmpty();
      return Promise.resolve(as(next.message));
    }
    if (this.#ended) return Promise.resolve(as(null));
    return new Promise((resolve) => this.#takers.push((message) => resolve(as(message))));
  }

  /** Calls a function once all messages have been taken, and their taker has had its turn. */
  whenEmpty(callback: () => void): void {
    this.#onEmpty = callback;
    this.#checkEmpty();
  }

  /** Nothing more comes; what waits can still be taken. */
  end(): void {
    this.#ended = true;
    for (const taker of this.#takers.splice(0)) taker(null);
  }

  /** Discards all messages, waiting and future, so that the close frame of the peer can be read. */
  discard(): void {
    this.#messages.length = 0;
    this.#cost = 0;
    this.end();
    this.#checkEmpty();
    if (this.#paused) this.#resume();
  }

  #checkEmpty(): void {
    if (this.#messages.length > 0 || this.#onEmpty === null) return;
    setImmediate(this.#onEmpty);
    this.#onEmpty = null;
  }

  #resume(): void {
    this.#paused = false;
    this.flow.resume();
  }
}

/** An iterator of messages. A generator would make three promises for each message instead of one. */
export class MessageIterator implements AsyncIterableIterator<Message> {
  #left = false;

  constructor(private readonly inbox: Inbox) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Message>> {
    return this.#left ? Promise.resolve(over) : this.inbox.takeAs(asResult);
  }

  return(): Promise<IteratorResult<Message>> {
    this.#left = true;
    return Promise.resolve(over);
  }
}

const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

const itself = (message: Message | null): Message | null => message;

function asResult(message: Message | null): IteratorResult<Message> {
  return message === null ? over : { done: false, value: message };
}
