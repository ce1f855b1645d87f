import fc from "fast-check";
import { isLong } from "./long.js";

const { STOA_SEED } = process.env;

/** Cases of a property: a fifth of them in `npm test`, and all in `npm test -- --all`. */
export const runs = (all: number): number => (isLong ? all : Math.ceil(all / 5));

/**
 * fast-check with one seed for all, so that a run says the same twice. `STOA_SEED=random` explores, and a failure prints
 * the seed it was found with.
 */
fc.configureGlobal({
  numRuns: runs(100),
  ...(STOA_SEED !== "random" && { seed: Number(STOA_SEED ?? 2026) }),
});

export default fc;
