import { prometheusProgram } from "./prometheus-package.mjs";

/** The judge of metrics, from Debian's package of Prometheus: a program to start, not a server. */
export default {
  name: "promtool",
  env: "STOA_TEST_PROMTOOL",
  async start(place) {
    return { value: await prometheusProgram("promtool", place) };
  },
};
