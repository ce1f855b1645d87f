import queries from "./s-queries.mjs";

/** The same, one after the other. */
export default { ...queries, key: "t", name: "sequence", kind: "sequence" };
