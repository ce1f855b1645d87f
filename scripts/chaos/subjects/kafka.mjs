import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startKafka } from "../../services/kafka.mjs";
import { freePort } from "../../services/ports.mjs";
import { pause } from "../wait.mjs";
import { brokerSubject } from "./broker-subject.mjs";

/** Two producers and two workers on one Kafka broker. */
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
    return brokerSubject(place, { broker: "kafka", configOf, workers: 2, start: { port: async () => port, start } });
  },
};
