import type { RecordedEvent } from "./event.js";

/** Events as they are needed: awaited, all of them in a list; in `for await`, page by page. */
export class EventReader<Event = RecordedEvent> implements AsyncIterable<Event>, PromiseLike<Event[]> {
  readonly #pages: () => AsyncGenerator<Event[]>;

  /** @internal */
  constructor(pages: () => AsyncGenerator<Event[]>) {
    this.#pages = pages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for await (const page of this.#pages()) yield* page;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting it reads all events
  then<A = Event[], B = never>(
    fulfilled?: ((events: Event[]) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#all().then(fulfilled, rejected);
  }

  async #all(): Promise<Event[]> {
    const events: Event[] = [];
    for await (const page of this.#pages()) for (const event of page) events.push(event);
    return events;
  }
}
