import { checkedOptions, type OptionsOf, option, options } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";

const topicOptions = options("Topic", {
  /** Events that may wait for one subscriber; with more, its subscription ends with an error. Default 1000. */
  maxWaiting: option(is.integer(1), 1000),
});

export type TopicOptions = OptionsOf<typeof topicOptions.fields>;

export interface SubscribeOptions<Event> {
  /** Leaves out events for which it returns false. */
  filter?: (event: Event) => boolean;
  /** Ends the subscription. A generator that waits for an event cannot be ended in another way: give it `context.signal`. */
  signal?: AbortSignal;
}

const readSubscribe = checkedOptions<SubscribeOptions<unknown>>({
  filter: is.function,
  signal: (value) => (value instanceof AbortSignal ? undefined : "an AbortSignal"),
});

/**
 * Events within one process, as the source of subscriptions: `topic.publish(book)` in a mutation, `topic.subscribe()` in
 * a subscription. Use the key-value store or the database's notifications where there are several processes.
 */
export class Topic<Event> {
  readonly #maxWaiting: number;
  readonly #subscribers = new Set<Subscriber<Event>>();

  constructor(given?: TopicOptions) {
    this.#maxWaiting = topicOptions.read([given]).maxWaiting;
  }

  /** The number of subscribers. */
  get size(): number {
    return this.#subscribers.size;
  }

  publish(event: Event): void {
    for (const subscriber of this.#subscribers) subscriber.put(event);
  }

  /** The events from now on. */
  subscribe(options?: SubscribeOptions<Event>): AsyncIterableIterator<Event> {
    const given = readSubscribe("subscribe()", options);
    const { filter, signal } = given as SubscribeOptions<Event>;
    const subscriber = new Subscriber<Event>(this.#maxWaiting, filter, () => this.#subscribers.delete(subscriber));
    if (signal?.aborted) void subscriber.return();
    else this.#subscribers.add(subscriber);
    signal?.addEventListener("abort", () => void subscriber.return(), { once: true });
    return subscriber;
  }
}

interface Waiter<Event> {
  readonly resolve: (result: IteratorResult<Event>) => void;
  readonly reject: (error: Error) => void;
}

class Subscriber<Event> implements AsyncIterableIterator<Event> {
  readonly #limit: number;
  readonly #filter: ((event: Event) => boolean) | undefined;
  readonly #leave: () => void;
  #events: Event[] = [];
  #waiters: Waiter<Event>[] = [];
  #error: Error | null = null;
  #ended = false;

  constructor(limit: number, filter: ((event: Event) => boolean) | undefined, leave: () => void) {
    this.#limit = limit;
    this.#filter = filter;
    this.#leave = leave;
  }

  put(event: Event): void {
    if (this.#filter && !this.#filter(event)) return;
    const waiter = this.#waiters.shift();
    if (waiter) waiter.resolve({ done: false, value: event });
    else if (this.#events.length < this.#limit) this.#events.push(event);
    else {
      this.#error = new Error("the subscriber takes events slower than they are published");
      this.#end();
    }
  }

  next(): Promise<IteratorResult<Event>> {
    if (this.#events.length > 0) return Promise.resolve({ done: false, value: this.#events.shift()! });
    if (this.#error !== null) {
      const error = this.#error;
      this.#error = null;
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<Event>> {
    this.#error = null;
    this.#events = [];
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leave();
    for (const { resolve } of this.#waiters.splice(0)) resolve({ done: true, value: undefined });
  }
}
