import traced from "./u-traced.mjs";

/** The same with a tenth of the requests recorded. */
export default { ...traced, key: "v", name: "sampled", rate: 0.1 };
