import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createAmqpBroker } from "stoa/messaging";
import { describe, expect, it, onTestFinished } from "vitest";
import { compiled } from "../../support/compiled.js";
import { service } from "../../support/service.js";
import type { KillerSettings } from "./amqp-killer-program.js";
import { connected, uniqueTopic, until } from "./harness.js";

const url = service("rabbitmq");
const program = fileURLToPath(new URL("./amqp-killer-program.ts", import.meta.url));

describe.skipIf(!url)("A message of RabbitMQ that kills its process", () => {
  it.each((["quorum", "classic"] as const).flatMap((queueType) => [1, 3].map((workers) => ({ queueType, workers }))))(
    "Only the message that kills is a dead letter, and its neighbours are handled ($workers workers, $queueType queue)",
    async ({ queueType, workers }) => {
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
      const fleet = Array.from({ length: workers }, () => supervised(settings, lines));
      const dead = async () => (await client.deadLetters.list(topic)).map(({ text }) => text);
      const neighbours = values.slice(1).map((value) => `end ${value}`);
      await until(() => neighbours.every((line) => lines.includes(line)), "the neighbours are handled", 60_000);
      await until(async () => (await dead()).length > 0, "the message that kills is a dead letter", 60_000);
      for (const stop of fleet) stop();
      expect(await dead()).toEqual(['"kills"']);
      expect(lines.filter((line) => line === "begin kills").length).toBeLessThanOrEqual(maxDeliveries + 1);
      await client.close();
    },
    180_000,
  );
});

/** A worker that is started again whenever it ends. Returns the function that ends it. */
function supervised(settings: KillerSettings, lines: string[]): () => void {
  let over = false;
  let stop = () => {};
  const start = () => {
    const child = spawn(process.execPath, [compiled(program), JSON.stringify(settings)]);
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
    child.on("exit", () => {
      if (!over) start();
    });
    stop = () => child.kill("SIGKILL");
  };
  start();
  const end = () => {
    over = true;
    stop();
  };
  onTestFinished(end);
  return end;
}
