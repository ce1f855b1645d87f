import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kafkaJars, kafkaVersion, startKafka } from "../../services/kafka.mjs";
import { freePort } from "../../services/ports.mjs";
import { pause } from "../wait.mjs";
import { brokerSubject } from "./broker-subject.mjs";

const javaClient = fileURLToPath(new URL("../../judges/JavaClient.java", import.meta.url));

/**
 * Two producers and two workers on one Kafka broker, and workers that join and leave; in runs of a minute and more the Java
 * client too, with snappy and with zstd.
 */
export default {
  name: "kafka",
  start: async (place) => {
    const folder = join(place.folder, "kafka");
    await mkdir(folder);
    const port = await freePort();
    const configOf = (shown) => ({ brokers: [`127.0.0.1:${shown}`], sessionTimeout: 6, connectTimeout: 1 });
    const start = async (advertised) => {
      let running = await startKafka(folder, port, { advertised });
      const faults = {
        // A pause of the whole broker, as of a machine that is out of memory.
        freeze: async (random) => {
          process.kill(running.pid, "SIGSTOP");
          await pause(random.between(300, 2500));
          process.kill(running.pid, "SIGCONT");
        },
        ...(place.long && {
          restart: async () => {
            await running.stop();
            running = await startKafka(folder, port, { advertised, controller: running.controller, restart: true });
          },
        }),
      };
      return { stop: () => running.stop(), faults, quick: true };
    };
    const others = async (shown) => {
      if (place.seconds < 60) return [];
      const jars = `${await kafkaJars(kafkaVersion, () => {})}/*`;
      const quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error";
      const options = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", quiet, "-cp", jars, javaClient];
      return ["snappy", "zstd"].map((codec) =>
        place.spawn(
          options[0],
          [...options.slice(1), `127.0.0.1:${shown}`, "endless", "chaos", codec, place.ledger.folder],
          {
            command: "java",
          },
        ),
      );
    };
    return brokerSubject(place, {
      broker: "kafka",
      configOf,
      workers: 2,
      joins: true,
      others,
      start: { port: async () => port, start },
    });
  },
};
