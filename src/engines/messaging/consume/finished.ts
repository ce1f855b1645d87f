/** Messages that are remembered. */
const most = 10_000;

/**
 * Messages whose handler has finished, but whose acknowledgement may not have reached the broker, since the connection or the
 * membership was lost. When such a message comes again, it is acknowledged without its handler. Otherwise a handler
 * that blocks the event loop for longer than the broker waits would run again and again.
 */
export class Finished {
  /** The oldest first. */
  readonly #identities = new Set<string>();

  get size(): number {
    return this.#identities.size;
  }

  add(identity: string): void {
    this.#identities.delete(identity);
    this.#identities.add(identity);
    if (this.#identities.size > most) this.#identities.delete(this.#identities.values().next().value!);
  }

  /** True if the message has finished here. It is forgotten: if its acknowledgement fails too, it is added again. */
  take(identity: string): boolean {
    return this.#identities.delete(identity);
  }
}
