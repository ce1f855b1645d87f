import { seeded } from "../../server/mutate.js";

/** Choices from a seed: the same seed gives the same ones. */
export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  /** An integer from `least` to `most`. */
  int(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(0, list.length - 1)]!;
  }

  /** Some of the items, at least one. */
  some<T>(list: readonly T[], most: number): T[] {
    const left = [...list];
    const taken: T[] = [];
    const wanted = this.int(1, Math.min(most, list.length));
    while (taken.length < wanted) taken.push(...left.splice(this.int(0, left.length - 1), 1));
    return taken;
  }
}
