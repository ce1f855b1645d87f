/**
 * A worker in a process of its own, for tests that kill and stop it. It prints one line for each event, and its handler ends
 * when it reads a line: `worker-program.ts '<json>'`.
 */
import { createInterface } from "node:readline";
import { createAmqpBroker, createKafkaBroker, createSqsBroker, openMessaging } from "../../../src/entry/messaging.js";
import { blockFor } from "../../support/block-for.js";

export interface WorkerSettings {
  readonly broker: "kafka" | "amqp" | "sqs";
  readonly config: object;
  readonly topic: string;
  readonly prefetch?: number;
  /** Milliseconds for which the handler blocks the event loop. */
  readonly block?: number;
}

const { broker, config, topic, prefetch = 1, block } = JSON.parse(process.argv[2]!) as WorkerSettings;
const say = (...words: unknown[]): void => void process.stdout.write(`${words.join(" ")}\n`);
const waiting: (() => void)[] = [];
let open = false;

const create = { kafka: createKafkaBroker, amqp: createAmqpBroker, sqs: createSqsBroker }[broker];
const warn = (text: string, fields: object = {}): void => say("warning", text, JSON.stringify(fields));
const quiet = { debug() {}, info() {}, warn, error() {}, child: () => quiet };
const client = await openMessaging(await create(config as never), { logger: quiet });
const consumer = await client.subscribe(topic, { concurrency: 1, prefetch }, async function work(message) {
  say("begin", message.value, message.attempt);
  if (block !== undefined) blockFor(block);
  else if (!open) await new Promise<void>((resolve) => waiting.push(resolve));
  say("end", message.value, message.signal.aborted);
});
say("ready");

// "go" ends the handlers that run, and those after them at once.
createInterface({ input: process.stdin }).on("line", () => {
  open = true;
  for (const resolve of waiting.splice(0)) resolve();
});
process.on("SIGTERM", async () => {
  const closing = client.close();
  say("closing");
  await closing;
  say("closed", JSON.stringify(consumer.stats().results));
  process.exit(0);
});
setInterval(() => {
  const { done, lost, duplicate } = consumer.stats().results;
  say("stats", done, lost);
  if (duplicate > 0) say("skipped");
}, 50);
