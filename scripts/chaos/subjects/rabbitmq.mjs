import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../services/ports.mjs";
import { startRabbit } from "../../services/rabbitmq.mjs";
import { brokerSubject } from "./broker-subject.mjs";

/** Two producers and one worker on one RabbitMQ node: several workers of one queue do not keep the order of keys. */
export default {
  name: "rabbitmq",
  start: async (place) => {
    const folder = join(place.folder, "rabbitmq");
    await mkdir(folder);
    const port = await freePort();
    const configOf = (shown) => ({
      url: `amqp://guest:guest@127.0.0.1:${shown}`,
      heartbeat: 2,
      connectTimeout: 1,
      queueType: "classic",
    });
    const start = async () => {
      let running = await startRabbit(folder, port);
      const restart = async () => {
        await running.stop();
        running = await startRabbit(folder, port, running.ports);
      };
      return { stop: () => running.stop(), faults: { restart }, quick: false };
    };
    return brokerSubject(place, { broker: "amqp", configOf, workers: 1, start: { port: async () => port, start } });
  },
};
