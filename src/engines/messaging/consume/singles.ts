import type { Held } from "./held.js";
import { Lanes } from "./lanes.js";
import type { WorkResult } from "./place.js";

/** The order in which a consumer handles its deliveries. */
export interface Flow {
  /** Handlers that run now. */
  readonly running: number;
  add(held: Held): void;
  /** Waits without taking up the room of a handler. */
  outside<T>(wait: () => Promise<T>): Promise<T>;
  /** Resolves when all deliveries have ended. */
  idle(): Promise<void>;
}

/** Takes the result of a delivery. Called once for each. */
export type Ended = (held: Held, result: WorkResult) => void;

/** Handles messages one by one: those of one key one after the other, others at the same time. */
export class Singles implements Flow {
  readonly #lanes: Lanes<Held>;

  /** @param work handles a delivery and calls the function that it is given, after it has returned */
  constructor(concurrency: number, work: (held: Held, ended: Ended) => void, ended: Ended) {
    const end: Ended = (held, result) => {
      try {
        ended(held, result);
      } finally {
        this.#lanes.end(held.delivery.record.key);
      }
    };
    this.#lanes = new Lanes(concurrency, (held) => work(held, end));
  }

  get running(): number {
    return this.#lanes.running;
  }

  add(held: Held): void {
    this.#lanes.add(held.delivery.record.key, held);
  }

  outside<T>(wait: () => Promise<T>): Promise<T> {
    return this.#lanes.outside(wait);
  }

  idle(): Promise<void> {
    return this.#lanes.idle();
  }
}
