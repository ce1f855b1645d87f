import { pythonWith } from "./python-packages.mjs";

const version = "1.45.2";

/**
 * The official messages of OTLP, from the Python package opentelemetry-proto: a second judge of what is exported. The
 * value is the Python that has them.
 */
export default {
  name: "otlp",
  env: "STOA_TEST_OTLP",
  async start({ log }) {
    return { value: await pythonWith(`otlp-messages-${version}`, [`opentelemetry-proto==${version}`], log) };
  },
};
