/** Deliveries without a result after which a message may have killed its process. The first may be the loss of a connection. */
export const suspectAfter = 2;

/**
 * Milliseconds that a consumer waits for the handlers under way before a suspect, and then for the suspect. After that,
 * others are handled beside it.
 */
export const longestAlone = 5000;

/** Runs one function at a time: suspects of several consumers must not be handled together either. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
