import { prometheusProgram } from "./prometheus-package.mjs";

/** The program of the Prometheus server. A test starts it, because the addresses that it scrapes are known only there. */
export default {
  name: "prometheus",
  env: "STOA_TEST_PROMETHEUS",
  async start(place) {
    return { value: await prometheusProgram("prometheus", place) };
  },
};
