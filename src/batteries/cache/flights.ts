import type { CacheEntry } from "./store.js";

/** How a flight ended for those who waited: with an entry, or so that they try again together, or each for itself. */
export type Landing = { readonly entry: CacheEntry; readonly status: "HIT" | "STALE" } | "again" | "alone";

/** An answer that is being made, for which others wait. */
export interface Flight {
  readonly key: string;
  readonly waiting: ((landing: Landing) => void)[];
  landed: boolean;
}

/** Answers that are being made, so that many who ask for the same make it once. */
export class Flights {
  readonly #byKey = new Map<string, Flight>();

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Waits for an answer that is being made; null when there is none. */
  join(key: string): Promise<Landing> | null {
    const flight = this.#byKey.get(key);
    return flight === undefined ? null : new Promise((resolve) => flight.waiting.push(resolve));
  }

  begin(key: string): Flight {
    const flight = { key, waiting: [], landed: false };
    this.#byKey.set(key, flight);
    return flight;
  }

  end(flight: Flight, landing: Landing): void {
    if (flight.landed) return;
    flight.landed = true;
    if (this.#byKey.get(flight.key) === flight) this.#byKey.delete(flight.key);
    for (const resolve of flight.waiting) resolve(landing);
  }
}
