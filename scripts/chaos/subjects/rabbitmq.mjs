import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../services/ports.mjs";
import { startRabbit } from "../../services/rabbitmq.mjs";
import { brokerSubject } from "./broker-subject.mjs";

/** Two producers and one worker on one RabbitMQ node: several workers of one queue do not keep the order of keys. */
export const rabbitmq = {
  name: "rabbitmq",
  start: (place) => onRabbit(place, { config: { queueType: "classic" }, workers: 1 }),
};

/**
 * Messages that wait: each is published with a delay, and one in five fails and waits for its next attempt, while the node is
 * killed and started again. Quorum queues, as by default.
 */
export const delays = {
  name: "delays",
  start: (place) =>
    onRabbit(place, {
      workers: 2,
      ordered: false,
      restarts: true,
      // One in five waits a second before the next of its key.
      settings: { longest: 4, retry: { delay: 1, attempts: 20 }, pace: place.long ? 2000 : 10 },
    }),
};

async function onRabbit(place, { config = {}, restarts = false, ...options }) {
  const folder = join(place.folder, "rabbitmq");
  await mkdir(folder);
  const port = await freePort();
  const configOf = (shown) => ({
    url: `amqp://guest:guest@127.0.0.1:${shown}`,
    heartbeat: 2,
    connectTimeout: 1,
    ...config,
  });
  const start = async () => {
    let running = await startRabbit(folder, port);
    const restart = async () => {
      await running.stop();
      running = await startRabbit(folder, port, running.ports);
    };
    return { stop: () => running.stop(), faults: { restart }, quick: restarts };
  };
  return brokerSubject(place, { broker: "amqp", configOf, start: { port: async () => port, start }, ...options });
}
