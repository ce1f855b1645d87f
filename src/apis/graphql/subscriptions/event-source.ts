/**
 * The results of a subscription, which can be ended at any time. A source may wait for its next event for hours: the end
 * does not wait for it.
 */
export class EventSource<T> {
  readonly #iterator: AsyncIterator<T>;
  readonly #onError: (error: unknown) => void;
  #wake: (() => void) | null = null;
  #ended = false;
  #closing: Promise<void> = Promise.resolve();

  constructor(source: AsyncIterable<T>, onError: (error: unknown) => void) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#onError = onError;
  }

  /** The next result; null when there are no more. Rejects if the source fails. */
  async next(): Promise<{ readonly value: T } | null> {
    if (this.#ended) return null;
    const item = await new Promise<IteratorResult<T> | null>((resolve, reject) => {
      this.#wake = () => resolve(null);
      this.#iterator.next().then(resolve, reject);
    });
    this.#wake = null;
    if (item === null || this.#ended) return null;
    if (!item.done) return item;
    this.#ended = true;
    return null;
  }

  /** Ends the source and the waiting for it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#wake?.();
    // A function that is async: a source may throw.
    const close = async (): Promise<void> => void (await this.#iterator.return?.());
    this.#closing = close().catch(this.#onError);
  }

  /** Resolves when the source has ended. That of a generator which waits for something may take as long. */
  get closed(): Promise<void> {
    return this.#closing;
  }
}
