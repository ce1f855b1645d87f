import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../process.mjs";
import { startChild } from "./child.mjs";
import { jars } from "./jars.mjs";
import { accepts, freePort } from "./ports.mjs";

const version = "4.3.1";
const artifacts = [`org.apache.kafka:kafka_2.13:${version}`, "org.slf4j:slf4j-simple:1.7.36"];
const java = ["-Xms256m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn";

/** Apache Kafka, one process as broker and controller. Tests that stop it start their own with `startKafka`. */
export default {
  name: "kafka",
  env: "STOA_TEST_KAFKA",
  start: ({ folder, port, log }) => startKafka(folder, port, { log }),
};

/**
 * Starts a broker with its data in the folder; with `restart` it finds the data of the last time. Clients are sent to the
 * port `advertised`, where a test may listen itself.
 */
export async function startKafka(
  folder,
  port,
  { log = () => {}, controller = 0, restart = false, advertised = port } = {},
) {
  const lib = await jars(`kafka-${version}`, artifacts, log);
  const classes = ["-cp", `${lib}/*`];
  const other = controller || (await freePort());
  const file = join(folder, "server.properties");
  if (!restart) {
    await writeFile(file, properties(folder, port, other, advertised));
    const format = ["kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", file];
    const { code, output } = await run("java", [...java, quiet, ...classes, ...format], { timeout: 120_000 });
    if (code !== 0) throw new Error(`Kafka's storage cannot be formatted: ${output.trim().split("\n").at(-1)}`);
  }
  const child = await startChild("java", [...java, quiet, ...classes, "kafka.Kafka", file], {
    ready: () => accepts(port),
    patience: 120_000,
  });
  return { value: `127.0.0.1:${port}`, stop: child.stop, controller: other };
}

function properties(folder, port, controller, advertised) {
  const settings = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.quorum.voters": `1@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${advertised}`,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": join(folder, "data"),
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": false,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}
