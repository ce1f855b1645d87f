import { pythonWith } from "./python-packages.mjs";

const version = "2.16.0";

/** Confluent's client for Python: a judge of messages with schemas of a registry. The value is the Python that has it. */
export default {
  name: "confluent",
  env: "STOA_TEST_CONFLUENT",
  async start({ log }) {
    const packages = [`confluent-kafka[avro,json,protobuf,schemaregistry]==${version}`];
    return { value: await pythonWith(`confluent-${version}`, packages, log) };
  },
};
