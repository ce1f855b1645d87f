import json from "./b-json.mjs";

/** The cost per request of sharing the port among processes; all of them share one core here. */
export default {
  ...json,
  key: "n",
  name: "workers",
  peers: ["stoa"],
  variants: [
    { label: "1 worker", workers: 1 },
    { label: "2 workers", workers: 2 },
  ],
};
