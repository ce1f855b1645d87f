/** A signal that is made when it is first read: most handlers do not read theirs. */
export class LazySignal {
  #controller: AbortController | null = null;
  #aborted = false;
  #reason: unknown = undefined;

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** True if it was read: the reader may act on its abort. */
  get isRead(): boolean {
    return this.#controller !== null;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** The reason of the first call counts. */
  abort(reason?: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
