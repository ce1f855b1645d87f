import type { Held } from "./held.js";
import { Lanes } from "./lanes.js";
import type { WorkResult } from "./place.js";

/** The order in which a consumer handles its deliveries. */
export interface Flow {
  /** Handlers that run now. */
  readonly running: number;
  add(held: Held, ended: (result: WorkResult) => void): void;
  /** Waits without taking up the room of a handler. */
  outside<T>(wait: () => Promise<T>): Promise<T>;
  /** Resolves when all deliveries have ended. */
  idle(): Promise<void>;
}

/** Handles a delivery and calls `ended` with its result, once. */
type Work = (held: Held, ended: (result: WorkResult) => void) => void;

/** Handles messages one by one: those of one key one after the other, others at the same time. */
export class Singles implements Flow {
  readonly #lanes: Lanes;
  readonly #work: Work;

  constructor(concurrency: number, work: Work) {
    this.#lanes = new Lanes(concurrency);
    this.#work = work;
  }

  get running(): number {
    return this.#lanes.running;
  }

  add(held: Held, ended: (result: WorkResult) => void): void {
    this.#lanes.add(held.delivery.record.key, (end) =>
      this.#work(held, (result) => {
        try {
          ended(result);
        } finally {
          end();
        }
      }),
    );
  }

  outside<T>(wait: () => Promise<T>): Promise<T> {
    return this.#lanes.outside(wait);
  }

  idle(): Promise<void> {
    return this.#lanes.idle();
  }
}
