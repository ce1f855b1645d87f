import { type Check, is } from "../../kit/options.js";
import type { Sample } from "./family.js";
import { inBraces } from "./names.js";

export const isBuckets: Check<readonly number[]> = (value) => {
  const numbers = is.list(is.number())(value);
  const list = value as readonly number[];
  if (numbers !== undefined || list.length === 0 || list.some((bound, i) => i > 0 && bound <= list[i - 1]!)) {
    return "a list of numbers in ascending order";
  }
  return list.length <= 100 ? undefined : "a list of at most 100 numbers";
};

/** The upper bounds of the buckets of a histogram, as they are counted by and as they are shown. */
export class Buckets {
  /** Ends in Infinity, so that a search needs no other end. */
  readonly bounds: Float64Array;
  readonly #labels: readonly string[];

  constructor(bounds: readonly number[]) {
    this.bounds = Float64Array.from([...bounds, Number.POSITIVE_INFINITY]);
    this.#labels = [...bounds.map(String), "+Inf"].map((bound) => `le="${bound}"`);
  }

  /** The counts of one series: one number for each bucket, and the sum. */
  createCounts(): Float64Array {
    return new Float64Array(this.bounds.length + 1);
  }

  /** Buckets are counted separately. In the samples each one includes all smaller ones, as the format requires. */
  samples(labels: string, counts: Float64Array): Sample[] {
    const before = labels === "" ? "" : `${labels},`;
    let below = 0;
    const samples = this.#labels.map((bound, i): Sample => [`_bucket{${before}${bound}}`, (below += counts[i]!)]);
    samples.push([`_sum${inBraces(labels)}`, counts[this.bounds.length]!], [`_count${inBraces(labels)}`, below]);
    return samples;
  }
}

/** Counts a value. A plain function over typed arrays: it runs twice for every request. */
export function observe(bounds: Float64Array, counts: Float64Array, value: number): void {
  let bucket = 0;
  while (value > bounds[bucket]!) bucket++;
  counts[bucket]!++;
  counts[bounds.length]! += value;
}
