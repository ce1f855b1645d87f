import type { CacheEntry } from "./store.js";

/** The end of a flight for the requests that waited: an entry, or they try again together, or each one alone. */
export type Landing = { readonly entry: CacheEntry; readonly status: "HIT" | "STALE" } | "again" | "alone";

/** A response that is being made, for which other requests wait. */
export interface Flight {
  readonly key: string;
  readonly waiting: ((landing: Landing) => void)[];
  landed: boolean;
}

/** Responses that are being made. Identical requests at the same time run the handler once. */
export class Flights {
  readonly #byKey = new Map<string, Flight>();

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Waits for a response that is being made; null if there is none. */
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
