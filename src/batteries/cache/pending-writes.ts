import { within } from "../../kit/time/within.js";

/** Bytes of responses on their way to a store. */
const maxSize = 16 * 1024 * 1024;
/** Milliseconds that the end of the application waits for them. */
const patience = 10_000;

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

  /** A store that does not reply is not waited for. */
  async settled(): Promise<void> {
    if (this.#writes.size > 0) await within(Promise.all(this.#writes), patience);
  }
}
