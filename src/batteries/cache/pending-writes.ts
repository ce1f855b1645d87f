/** Bytes of responses on their way to a store. */
const maxSize = 16 * 1024 * 1024;

/** Responses that are stored while, or after, they are sent. */
export class PendingWrites {
  readonly #writes = new Set<Promise<void>>();
  #size = 0;

  /** Takes a promise that does not reject. Returns false if the store has fallen behind: then the response waits for it. */
  add(write: Promise<void>, size: number): boolean {
    this.#writes.add(write);
    this.#size += size;
    void write.then(() => {
      this.#writes.delete(write);
      this.#size -= size;
    });
    return this.#size <= maxSize;
  }

  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }
}
