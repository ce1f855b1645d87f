import { dirname, join } from "node:path";
import { startChild } from "./child.mjs";
import { pythonWith } from "./python-packages.mjs";

const version = "5.2.5";

/** Moto, an emulator of AWS: SNS with its queues of SQS. */
export default {
  name: "moto",
  env: "STOA_TEST_MOTO",
  async start({ port, log }) {
    const python = await pythonWith(`moto-${version}`, [`moto[server]==${version}`], log);
    const args = ["-H", "127.0.0.1", "-p", String(port)];
    const url = `http://127.0.0.1:${port}`;
    const answers = () =>
      fetch(`${url}/moto-api/data.json`).then(
        ({ ok }) => ok,
        () => false,
      );
    const { stop } = await startChild(join(dirname(python), "moto_server"), args, {
      ready: answers,
      patience: 120_000,
    });
    return { value: url, stop };
  },
};
