import { fileURLToPath } from "node:url";
import { startFauxqs } from "fauxqs";
import { createSqsBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { credentials } from "./cloud-queue-suite.js";
import { connected, gate, uniqueTopic, until } from "./harness.js";
import { supervised } from "./supervised.js";

const elasticmq = isLong ? service("elasticmq") : undefined;
const program = fileURLToPath(new URL("./sqs-killer-program.ts", import.meta.url));

// At once: nearly all of their time is the time for which a message is hidden.
describe.concurrent("Suspects of SQS as fauxqs emulates it", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());
  suspects(() => server.address);
});

describe.skipIf(!elasticmq).concurrent("Suspects of SQS as ElasticMQ emulates it", () => suspects(() => elasticmq!));

function suspects(endpoint: () => string): void {
  const settings = (fifo: boolean) => ({ endpoint: endpoint(), credentials, waitTime: 0, visibilityTimeout: 2, fifo });

  it.for([{ fifo: false }, { fifo: true }])(
    "Only the message that kills its process is a dead letter (FIFO: $fifo)",
    { timeout: 300_000 },
    async ({ fifo }, context) => {
      const topic = uniqueTopic("killer");
      const maxDeliveries = 4;
      const config = settings(fifo);
      const client = await connected({ connect: () => createSqsBroker(config) });
      const values = ["a", "b", "kills", "c", "d", "e", "f", "g"];
      await client.publishBatch(
        topic,
        values.map((value) => ({ value, key: fifo ? "one" : null })),
      );
      const lines: string[] = [];
      const stop = supervised(context, program, { config, topic, maxDeliveries }, lines);
      const dead = async () => (await client.deadLetters.list(topic)).map(({ text }) => text);
      const neighbours = values.filter((value) => value !== "kills").map((value) => `end ${value}`);
      await until(() => neighbours.every((line) => lines.includes(line)), "the neighbours are handled", 120_000);
      await until(async () => (await dead()).length > 0, "the message that kills is a dead letter", 120_000);
      stop();
      // Twice if the message became visible again meanwhile.
      expect(new Set(await dead())).toEqual(new Set(['"kills"']));
      await client.close();
    },
  );

  it("A suspect that takes long holds up others for a while only", async () => {
    const topic = uniqueTopic("slow");
    const client = await connected({ connect: () => createSqsBroker(settings(false)) });
    const slow = gate();
    await client.publish(topic, "slow", { key: null });
    // Taken over three times without a result, as by processes that have died.
    for (let times = 0; times < 3; times++) {
      const broker = await createSqsBroker(settings(false));
      const begun = gate();
      const request = { topic, group: broker.defaultGroup, prefetch: 1, maxDeliveries: 20 };
      const nothing = { lost() {}, failed() {}, hold: async () => {}, resume() {}, deliver: () => begun.open() };
      const consumer = await broker.consume(
        { ...request, from: "start", broadcast: false, deadLetterTopic: null },
        nothing,
      );
      await begun.opened;
      await consumer.close();
      await broker.close();
    }
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ value }) => {
      seen.push(value);
      return value === "slow" ? slow.opened : undefined;
    });
    await until(() => seen.length === 1);
    await client.publish(topic, "other", { key: null });
    await until(() => seen.length === 2);
    expect(seen).toEqual(["slow", "other"]);
    slow.open();
    await client.close();
  });
}
