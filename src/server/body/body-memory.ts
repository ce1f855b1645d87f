import type { HttpError } from "../../errors/http-error.js";
import { overloaded } from "../../errors/paced.js";

/**
 * Counts the bytes of bodies that are being read into memory, over all connections of a server, and bounds them. Bytes
 * that have arrived count, not those that a client announces: announcing costs a client nothing.
 */
export class BodyMemory {
  readonly #max: number;
  #used = 0;

  /** `max` is 0 for no bound. */
  constructor(max: number) {
    this.#max = max === 0 ? Number.POSITIVE_INFINITY : max;
  }

  get used(): number {
    return this.#used;
  }

  get isFull(): boolean {
    return this.#used >= this.#max;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}

/** The error of a body for which there is no room. */
export function bodyMemoryFull(): HttpError {
  return overloaded("The server is reading too many request bodies at once.");
}
