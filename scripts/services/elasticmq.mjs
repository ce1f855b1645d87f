import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startChild } from "./child.mjs";
import { jars } from "./jars.mjs";

const version = "1.7.1";
const artifacts = [`org.elasticmq:elasticmq-server_2.13:${version}`];

/** ElasticMQ, an emulator of SQS with its strict limits. */
export default {
  name: "elasticmq",
  env: "STOA_TEST_ELASTICMQ",
  async start({ folder, port, log }) {
    const lib = await jars(`elasticmq-${version}`, artifacts, log);
    const file = join(folder, "elasticmq.conf");
    const lines = [
      'include classpath("application.conf")',
      `node-address { host = localhost, port = ${port} }`,
      `rest-sqs { bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }`,
      "rest-stats { enabled = false }",
    ];
    await writeFile(file, `${lines.join("\n")}\n`);
    const args = [
      "-Xmx192m",
      "-XX:+UseSerialGC",
      `-Dconfig.file=${file}`,
      "-cp",
      `${lib}/*`,
      "org.elasticmq.server.Main",
    ];
    const url = `http://127.0.0.1:${port}`;
    const answers = () =>
      fetch(url).then(
        () => true,
        () => false,
      );
    const { stop } = await startChild("java", args, { ready: answers, patience: 120_000 });
    return { value: url, stop };
  },
};
