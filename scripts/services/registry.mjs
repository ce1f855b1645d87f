import { join } from "node:path";
import { startChild } from "./child.mjs";
import { unpacked } from "./jars.mjs";

// The newest version that runs on Java 17.
const version = "3.0.9";

/** Apicurio Registry with its data in memory. The value is the address of its interface like Confluent's. */
export default {
  name: "registry",
  env: "STOA_TEST_REGISTRY",
  async start({ port, log }) {
    const artifact = `io.apicurio:apicurio-registry-app:${version}:tar.gz:all`;
    const folder = await unpacked(`apicurio-${version}`, artifact, log);
    const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
    const answers = () =>
      fetch(`${url}/subjects`).then(
        ({ ok }) => ok,
        () => false,
      );
    const memory = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
    const jar = join(folder, `apicurio-registry-app-${version}-runner.jar`);
    const env = { ...process.env, QUARKUS_HTTP_PORT: String(port), QUARKUS_HTTP_HOST: "127.0.0.1" };
    const { stop } = await startChild("java", [...memory, "-jar", jar], { ready: answers, patience: 300_000, env });
    return { value: url, stop };
  },
};
