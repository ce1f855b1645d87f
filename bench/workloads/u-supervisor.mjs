import json from "./b-json.mjs";

/**
 * The cost of the state that a supervisor keeps for two workers. All processes share one core, so the work of the
 * supervisor counts too.
 */
export default {
  ...json,
  key: "u",
  name: "state of two workers",
  kind: "supervised",
  peers: ["stoa"],
  workers: 2,
  variants: [
    { label: "nothing shared", shared: [] },
    { label: "a rate limit that counts nothing", shared: ["uncounted"] },
    { label: "a rate limit", shared: ["rate limit"] },
    { label: "a response cache", shared: ["cache"] },
    { label: "a circuit breaker", shared: ["circuits"] },
  ],
};
