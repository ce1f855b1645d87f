/** The rule that decides on which traces are recorded. */
export interface Sampling {
  /** The share of traces that begin here and are recorded, from 0 to 1. */
  readonly rate: number;
  /** True if the decision of the caller is followed. */
  readonly parentBased: boolean;
}

/**
 * Decides by the last 52 bits of the trace id, so that all services with the same rate choose the same traces.
 * `parent` is the decision of the caller; null where there is none.
 */
export class Sampler {
  readonly #threshold: number;
  readonly #parentBased: boolean;

  constructor({ rate, parentBased }: Sampling) {
    this.#threshold = Math.round((1 - rate) * 2 ** 52);
    this.#parentBased = parentBased;
  }

  samples(parent: boolean | null, traceId: string): boolean {
    if (parent !== null && this.#parentBased) return parent;
    if (this.#threshold === 0) return true;
    return this.#threshold < 2 ** 52 && Number.parseInt(traceId.slice(19), 16) >= this.#threshold;
  }
}
