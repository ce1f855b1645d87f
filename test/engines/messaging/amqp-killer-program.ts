/** A worker that one of its messages kills: `amqp-killer-program.ts '<json>'`. */
import { createAmqpBroker, openMessaging } from "../../../src/entry/messaging.js";

export interface KillerSettings {
  readonly url: string;
  readonly queueType: "quorum" | "classic";
  readonly topic: string;
  readonly maxDeliveries: number;
}

const { url, queueType, topic, maxDeliveries } = JSON.parse(process.argv[2]!) as KillerSettings;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const client = await openMessaging(await createAmqpBroker({ url, queueType, heartbeat: 1 }), { logger: quiet });
await client.subscribe(topic, { concurrency: 2, prefetch: 5, maxDeliveries }, async ({ value }) => {
  process.stdout.write(`begin ${value}\n`);
  // The others are under way when the process ends.
  await new Promise((resolve) => setTimeout(resolve, value === "kills" ? 20 : 100));
  if (value === "kills") process.kill(process.pid, "SIGKILL");
  process.stdout.write(`end ${value}\n`);
});
process.stdout.write("ready\n");
