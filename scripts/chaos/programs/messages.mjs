/**
 * A producer or a worker of messages: `messages.mjs <role> '<json>'` with the broker, its configuration, the topic and the folder
 * of the ledger. A producer counts up for each of its keys, and waits for the confirmation of each message; with `longest` each
 * message has a delay of up to so many seconds. A worker writes a line before and after it handles a message.
 */
import { createAmqpBroker, createKafkaBroker, createSqsBroker, openMessaging } from "../../../src/entry/messaging.ts";
import { ledgerFile } from "../ledger.mjs";
import { mayBlock, pause } from "../wait.mjs";

const [role, json] = process.argv.slice(2);
const { broker, config, topic, folder, keys, prefetch, pace, longest = 0, retry = { delay: 0.05 } } = JSON.parse(json);
const write = ledgerFile(folder, role);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const create = { kafka: createKafkaBroker, amqp: createAmqpBroker, sqs: createSqsBroker }[broker];
let ending = false;

const client = await connect();
process.on("SIGTERM", async () => {
  ending = true;
  await client.close();
  process.exit(0);
});
if (role === "producer") await Promise.all(Array.from({ length: keys }, (_, key) => produce(`${process.pid}-${key}`)));
else await consume();

/** A broker that is away at the start is tried again, as a service would. */
async function connect() {
  for (;;) {
    try {
      return await openMessaging(await create(config), { logger: quiet });
    } catch {
      await pause(300);
    }
  }
}

async function produce(key) {
  for (let number = 0; !ending; number++) {
    const id = `${key}-${number}`;
    try {
      await client.publish(topic, { key, number }, { key, id, ...(longest > 0 && { delay: Math.random() * longest }) });
      write("sent", { key, number, id });
    } catch (error) {
      // It may have been published all the same: only confirmed messages must arrive.
      write("unsure", { key, number, id, code: error.code });
    }
    await pause(Math.random() * pace);
  }
}

async function consume() {
  for (;;) {
    try {
      await client.subscribe(topic, { concurrency: 10, prefetch, retry }, handle);
      return;
    } catch {
      await pause(300);
    }
  }
}

async function handle(message) {
  const { key, number } = message.value;
  write("begun", { key, number, id: message.id, attempt: message.attempt });
  if (Math.random() < 0.5) await pause(Math.random() * 4);
  // The broker may take the messages that are under way for lost: it counts as a fault.
  if (mayBlock(0.0003)) write("blocked", { id: message.id });
  // Some attempts fail: the next one is before the messages after it.
  if (message.attempt === 1 && Math.random() < (longest > 0 ? 0.2 : 0.02)) throw new Error("by chance");
  write("handled", { key, number, id: message.id, aborted: message.signal.aborted });
}
