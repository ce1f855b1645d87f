/** A worker that one of its messages kills: `sqs-killer-program.ts '<json>'`. */
import { createSqsBroker, openMessaging } from "../../../src/entry/messaging.js";

const { config, topic, maxDeliveries } = JSON.parse(process.argv[2]!);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const client = await openMessaging(await createSqsBroker(config), { logger: quiet });
await client.subscribe(topic, { concurrency: 3, prefetch: 10, maxDeliveries }, async ({ value }) => {
  process.stdout.write(`begin ${value}\n`);
  // The others are under way when the process ends.
  await new Promise((resolve) => setTimeout(resolve, value === "kills" ? 20 : 100));
  if (value === "kills") process.kill(process.pid, "SIGKILL");
  process.stdout.write(`end ${value}\n`);
});
