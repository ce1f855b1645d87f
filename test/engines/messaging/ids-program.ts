/** Prints the ids of messages and the group of a broadcast, as one process makes them. */
import { MemoryBroker, openMessaging } from "../../../src/entry/messaging.js";

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const client = await openMessaging(new MemoryBroker(), { logger: quiet });
const { group } = await client.subscribe("all", { broadcast: true }, () => {});
const published = await client.publishBatch(
  "topic",
  Array.from({ length: 500 }, (_, value) => ({ value })),
);
process.stdout.write(JSON.stringify([group, ...published.map(({ id }) => id)]));
await client.close();
