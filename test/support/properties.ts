import fc from "fast-check";

const { STOA_SEED } = process.env;

/**
 * fast-check with one seed for all, so that a run says the same twice. `STOA_SEED=random` explores, and a failure prints
 * the seed it was found with.
 */
fc.configureGlobal(STOA_SEED === "random" ? {} : { seed: Number(STOA_SEED ?? 2026) });

export default fc;
