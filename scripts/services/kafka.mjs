import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../process.mjs";
import { startChild } from "./child.mjs";
import { jars } from "./jars.mjs";
import { accepts, freePort } from "./ports.mjs";

export const kafkaVersion = "4.3.1";
const java = ["-Xms256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn";

/** Apache Kafka, one process as broker and controller. Tests that stop it start their own with `startKafka`. */
export default {
  name: "kafka",
  env: "STOA_TEST_KAFKA",
  start: ({ folder, port, log }) => startKafka(folder, port, { log }),
};

/**
 * Starts a broker with its data in the folder; with `restart` it finds the data of the last time. Clients are sent to the
 * port `advertised`, where a test may listen itself. `secure` adds listeners with a login and with TLS:
 * `{ sasl: port, tls: port, both: port, keystore, ca, user, password }`. `settings` are those of the broker.
 */
export async function startKafka(
  folder,
  port,
  {
    log = () => {},
    controller = 0,
    restart = false,
    advertised = port,
    version = kafkaVersion,
    secure = /** @type {object | null} */ (null),
    cluster = /** @type {object | null} */ (null),
    heap = 384,
    settings = {},
  } = {},
) {
  const lib = await kafkaJars(version, log);
  const options = [`-Xmx${heap}m`, ...java, quiet, "-cp", `${lib}/*`];
  const other = controller || (await freePort());
  const file = join(folder, "server.properties");
  if (!restart) {
    await writeFile(file, properties({ folder, port, controller: other, advertised, secure, cluster, more: settings }));
    const format = ["kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", file];
    for (const mechanism of secure ? ["SCRAM-SHA-256", "SCRAM-SHA-512"] : []) {
      format.push("--add-scram", `${mechanism}=[name=${secure.user},password=${secure.password}]`);
    }
    const { code, output } = await run("java", [...options, ...format], { timeout: 300_000 });
    if (code !== 0) throw new Error(`Kafka's storage cannot be formatted: ${output.trim().split("\n").at(-1)}`);
  }
  const child = await startChild("java", [...options, "kafka.Kafka", file], {
    ready: () => accepts(port),
    patience: 300_000,
  });
  return { value: `127.0.0.1:${port}`, stop: child.stop, pid: child.pid, controller: other };
}

/** The folder with the broker and the Java client. */
export function kafkaJars(version, log) {
  return jars(`kafka-${version}`, [`org.apache.kafka:kafka_2.13:${version}`, "org.slf4j:slf4j-simple:1.7.36"], log);
}

/**
 * Starts three brokers, each as broker and controller, with topics on all of them and two of three replicas needed for a
 * publish. `nodes[i].stop()` kills one; `nodes[i].start()` starts it again with its data.
 */
export async function startKafkaCluster(folder, { log = () => {}, version = kafkaVersion } = {}) {
  const ports = [];
  for (let i = 0; i < 6; i++) ports.push(await freePort());
  const voters = [1, 2, 3].map((id) => `${id}@127.0.0.1:${ports[id + 2]}`).join(",");
  const start = async (id, restart) => {
    const own = join(folder, `node-${id}`);
    await mkdir(own, { recursive: true });
    const place = { controller: ports[id + 2], cluster: { id, voters }, heap: 256 };
    return startKafka(own, ports[id - 1], { log, version, restart, ...place });
  };
  const nodes = await Promise.all(
    [1, 2, 3].map(async (id) => {
      let running = await start(id, false);
      return {
        stop: () => running.stop(),
        start: async () => {
          running = await start(id, true);
        },
      };
    }),
  );
  return {
    brokers: ports.slice(0, 3).map((port) => `127.0.0.1:${port}`),
    nodes,
    stop: () => Promise.all(nodes.map((node) => node.stop())),
  };
}

function properties({ folder, port, controller, advertised, secure, cluster, more = {} }) {
  const copies = cluster === null ? 1 : 3;
  const listeners = [`PLAINTEXT://127.0.0.1:${port}`];
  const shown = [`PLAINTEXT://127.0.0.1:${advertised}`];
  for (const [name, own] of secure
    ? [
        ["SASLP", secure.sasl],
        ["TLS", secure.tls],
        ["SASLS", secure.both],
      ]
    : []) {
    listeners.push(`${name}://127.0.0.1:${own}`);
    shown.push(`${name}://127.0.0.1:${own}`);
  }
  const protocols = [
    "PLAINTEXT:PLAINTEXT",
    "CONTROLLER:PLAINTEXT",
    "SASLP:SASL_PLAINTEXT",
    "TLS:SSL",
    "SASLS:SASL_SSL",
  ];
  const settings = {
    "process.roles": "broker,controller",
    "node.id": cluster?.id ?? 1,
    "controller.quorum.voters": cluster?.voters ?? `1@127.0.0.1:${controller}`,
    listeners: [...listeners, `CONTROLLER://127.0.0.1:${controller}`].join(","),
    "advertised.listeners": shown.join(","),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": protocols.join(","),
    "log.dirs": join(folder, "data"),
    "default.replication.factor": copies,
    "min.insync.replicas": Math.min(2, copies),
    "offsets.topic.replication.factor": copies,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": copies,
    "transaction.state.log.min.isr": Math.min(2, copies),
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": copies,
    "share.coordinator.state.topic.min.isr": Math.min(2, copies),
    "group.initial.rebalance.delay.ms": 0,
    ...more,
    "auto.create.topics.enable": false,
    ...(secure && securitySettings(secure)),
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

function securitySettings({ keystore, ca, user, password }) {
  const login = (kind, more) => `org.apache.kafka.common.security.${kind} required${more};`;
  const plain = login("plain.PlainLoginModule", ` user_${user}="${password}"`);
  const scram = login("scram.ScramLoginModule", "");
  const bearer = login("oauthbearer.OAuthBearerLoginModule", ` unsecuredLoginStringClaim_sub="${user}"`);
  const settings = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": keystore,
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": ca,
  };
  for (const listener of ["saslp", "sasls"]) {
    settings[`listener.name.${listener}.plain.sasl.jaas.config`] = plain;
    // Without a validator it takes tokens that are not signed.
    settings[`listener.name.${listener}.oauthbearer.sasl.jaas.config`] = bearer;
    for (const kind of ["scram-sha-256", "scram-sha-512"]) {
      settings[`listener.name.${listener}.${kind}.sasl.jaas.config`] = scram;
    }
  }
  return settings;
}
