import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAmqpBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { startRabbit } from "../../../scripts/services/rabbitmq.mjs";
import { service } from "../../support/service.js";
import { connected, uniqueTopic, until } from "./harness.js";

const count = 400;

/** A broker that is out of memory, as its operator says, reads nothing from connections that publish. */
describe.skipIf(!service("rabbitmq"))("A RabbitMQ that is out of memory", () => {
  let folder: string;
  let rabbit: Awaited<ReturnType<typeof startRabbit>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-rabbit-alarm-"));
    rabbit = await startRabbit(folder, await freePort());
  }, 180_000);

  afterAll(async () => {
    await rabbit?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const alarm = (on: boolean) => rabbit.ctl("set_vm_memory_high_watermark", on ? "0.00001" : "0.9");

  it("A process that publishes handles the messages that are there, and those that fail are retried or dead letters when memory is free again", async () => {
    const client = await connected({ connect: () => createAmqpBroker(rabbit.value) }, { timeout: 120 });
    const topic = uniqueTopic("alarm");
    const handled = new Set<number>();
    const consumer = await client.subscribe(topic, { retry: { delay: 0.01 }, concurrency: 5 }, (message) => {
      const value = message.value as number;
      if (value % 40 === 1 && message.attempt === 1) throw new Error("later");
      if (value % 100 === 2) message.deadLetter("bad");
      else handled.add(value);
    });
    consumer.pause();
    await client.publishBatch(
      topic,
      Array.from({ length: count }, (_, value) => ({ value })),
    );
    await alarm(true);
    const late = client.publish(topic, count);
    consumer.resume();
    // 4 are dead letters, and 10 fail at first: their copies may be on the way when RabbitMQ stops to read.
    await until(() => handled.size >= count - 14, "the messages are handled during the alarm", 60_000).catch(
      (cause) => {
        throw new Error(`${handled.size} of ${count - 4} were handled during the alarm`, { cause });
      },
    );
    expect(await client.deadLetters.list(topic)).toHaveLength(0);
    await alarm(false);
    await late;
    await until(() => handled.size === count + 1 - 4 && consumer.stats().results.dead === 4, "the rest is handled");
    expect(await client.deadLetters.list(topic)).toHaveLength(4);
    await client.close();
  }, 240_000);
});
