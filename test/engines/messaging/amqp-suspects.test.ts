import { fileURLToPath } from "node:url";
import { createAmqpBroker } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { service } from "../../support/service.js";
import type { KillerSettings } from "./amqp-killer-program.js";
import { connected, gate, uniqueTopic, until } from "./harness.js";
import { supervised } from "./supervised.js";

const url = service("rabbitmq");
const program = fileURLToPath(new URL("./amqp-killer-program.ts", import.meta.url));

describe.skipIf(!url)("A message of RabbitMQ that kills its process", () => {
  it.for((["quorum", "classic"] as const).flatMap((queueType) => [1, 3].map((workers) => ({ queueType, workers }))))(
    "Only the message that kills is a dead letter, and its neighbours are handled ($workers workers, $queueType queue)",
    { timeout: 180_000 },
    async ({ queueType, workers }, context) => {
      const topic = uniqueTopic("killer");
      const maxDeliveries = 4;
      const client = await connected({ connect: () => createAmqpBroker({ url: url!, queueType }) });
      const consumer = await client.subscribe(topic, {}, () => {});
      await consumer.close();
      const values = ["kills", "a", "b", "c", "d", "e", "f"];
      await client.publishBatch(
        topic,
        values.map((value) => ({ value })),
      );
      const lines: string[] = [];
      const settings: KillerSettings = { url: url!, queueType, topic, maxDeliveries };
      const fleet = Array.from({ length: workers }, () => supervised(context, program, settings, lines));
      const dead = async () => (await client.deadLetters.list(topic)).map(({ text }) => text);
      const neighbours = values.slice(1).map((value) => `end ${value}`);
      await until(() => neighbours.every((line) => lines.includes(line)), "the neighbours are handled", 60_000);
      await until(async () => (await dead()).length > 0, "the message that kills is a dead letter", 60_000);
      for (const stop of fleet) stop();
      expect(await dead()).toEqual(['"kills"']);
      expect(lines.filter((line) => line === "begin kills").length).toBeLessThanOrEqual(maxDeliveries + 1);
      await client.close();
    },
  );

  it("Messages that a restart of the broker has marked are handled beside each other", async () => {
    const topic = uniqueTopic("marked");
    const connect = () => createAmqpBroker({ url: url!, queueType: "classic" });
    const taker = await connected({ connect });
    let taken = 0;
    await taker.subscribe(topic, { prefetch: 500, concurrency: 500 }, () => {
      taken++;
      return new Promise(() => {});
    });
    const values = Array.from({ length: 200 }, (_, value) => value);
    await taker.publishBatch(
      topic,
      values.map((value) => ({ value })),
    );
    await until(() => taken === values.length, "all messages are taken over", 60_000);
    // The queue marks each of them as delivered before.
    await taker.drain(1);
    await taker.close();
    const client = await connected({ connect });
    let running = 0;
    const together: number[] = [];
    const second = await client.subscribe(topic, { prefetch: 5, concurrency: 5 }, async () => {
      together.push(++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
    });
    await until(() => together.length >= values.length, "all messages are handled", 120_000);
    expect(together.slice(0, 50)).toEqual(new Array(50).fill(1));
    expect(Math.max(...together.slice(60))).toBe(5);
    await second.close();
    await client.close();
  });

  it("A suspect that takes long holds up others for a while only", async () => {
    const topic = uniqueTopic("slow");
    const connect = () => createAmqpBroker({ url: url!, heartbeat: 1 });
    const client = await connected({ connect });
    const slow = gate();
    const seen: unknown[] = [];
    const first = await client.subscribe(topic, {}, () => {});
    await first.close();
    await client.publish(topic, "slow");
    // Taken over three times without a result, as by processes that have died.
    for (let times = 0; times < 3; times++) {
      const taker = await connected({ connect });
      const begun = gate();
      await taker.subscribe(topic, { maxDeliveries: 20 }, () => {
        begun.open();
        return slow.opened;
      });
      await begun.opened;
      await taker.drain(1);
      await taker.close();
    }
    await client.subscribe(topic, {}, ({ value }) => {
      seen.push(value);
      return value === "slow" ? slow.opened : undefined;
    });
    await until(() => seen.length === 1);
    await client.publish(topic, "other");
    await until(() => seen.length === 2);
    expect(seen).toEqual(["slow", "other"]);
    slow.open();
    await client.close();
  });
});
