import type { Database } from "../engines/db/database.js";

/**
 * Lets the workers of a database be held for a moment. A test whose transaction is rolled back needs this: what a worker has
 * begun outside of the transaction must not end in it, and the other way round.
 */
export class Gate {
  #inside = 0;
  #opened: Promise<void> | null = null;
  #onEmpty: (() => void) | null = null;

  /** Null while the gate is open. */
  get opened(): Promise<void> | null {
    return this.#opened;
  }

  /** For callers that have seen that the gate is open, and those that are inside. Each call needs one of `leave`. */
  enter(): void {
    this.#inside++;
  }

  leave(): void {
    if (--this.#inside === 0) this.#onEmpty?.();
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    while (this.#opened !== null) await this.#opened;
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Closes the gate, and waits until no work is inside. The function that it resolves to opens it. */
  async close(): Promise<() => void> {
    while (this.#opened !== null) await this.#opened;
    let open = (): void => {};
    this.#opened = new Promise((resolve) => {
      open = () => {
        this.#opened = null;
        resolve();
      };
    });
    if (this.#inside > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    this.#onEmpty = null;
    return open;
  }
}

const gates = new WeakMap<Database, Gate>();

/** The gate of all workers of a database. */
export function gateOf(db: Database): Gate {
  const gate = gates.get(db) ?? new Gate();
  gates.set(db, gate);
  return gate;
}
