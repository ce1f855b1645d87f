import { type Checks, is, readOptions, show } from "../../../internal/options.js";
import { ValueError } from "../../../internal/value-error.js";

export interface TopicOptions {
  /** Events that may wait for one subscriber; with more, its subscription ends with an error. Default 1000. */
  maxWaiting?: number;
}

const checks: Checks<TopicOptions> = { maxWaiting: is.integer(1) };

/**
 * Events within one process, as the source of subscriptions: `topic.publish(book)` in a mutation, `topic.subscribe()` in
 * a subscription. Use the key-value store or the database's notifications where there are several processes.
 */
export class Topic<Event> {
  readonly #maxWaiting: number;
  readonly #subscribers = new Set<Subscriber<Event>>();

  constructor(options?: TopicOptions) {
    this.#maxWaiting = readOptions<TopicOptions>("Topic", options, checks).maxWaiting ?? 1000;
  }

  /** The number of subscribers. */
  get size(): number {
    return this.#subscribers.size;
  }

  publish(event: Event): void {
    for (const subscriber of this.#subscribers) subscriber.put(event);
  }

  /** The events from now on, those that pass the filter. */
  subscribe(filter?: (event: Event) => boolean): AsyncIterableIterator<Event> {
    if (filter !== undefined && typeof filter !== "function") {
      throw new ValueError(`subscribe takes a function, not ${show(filter)}`);
    }
    const subscriber = new Subscriber<Event>(this.#maxWaiting, filter, () => this.#subscribers.delete(subscriber));
    this.#subscribers.add(subscriber);
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
