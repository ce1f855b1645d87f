import traced from "./w-traced.mjs";

/** The same with a tenth of the requests recorded. */
export default { ...traced, key: "x", name: "sampled", rate: 0.1 };
