import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createKafkaBroker } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { connected, uniqueTopic, until } from "./harness.js";
import type { KillerSettings } from "./killer-program.js";

const address = service("kafka");
const program = fileURLToPath(new URL("./killer-program.ts", import.meta.url));

describe.skipIf(!address)("A message that kills its process", () => {
  // At once: nearly all of their time is the time after which Kafka takes a killed process for dead.
  it.concurrent.for([
    ...(isLong ? [{ title: "handled one by one", more: {} }] : []),
    { title: "of a transactional consumer in batches", more: { transactional: true, batch: 10 } },
  ])(
    "A message of Kafka that kills its process is a dead letter after 'maxDeliveries', and takes no other along: $title",
    async ({ more }, { onTestFinished }) => {
      const config = { brokers: [address!], groupId: uniqueTopic("group"), sessionTimeout: 6 };
      const client = await connected({ connect: () => createKafkaBroker(config) });
      onTestFinished(() => client.close());
      const topic = uniqueTopic();
      const total = 200;
      const entries = Array.from({ length: total }, (_, n) => ({ value: n === 60 ? "kill" : n, key: `k${n % 10}` }));
      await client.publishBatch(topic, entries);
      const handled = new Set<string>();
      const settings: KillerSettings = { config, topic, options: { maxDeliveries: 2, ...more } };
      let deaths = 0;
      let running = true;
      onTestFinished(() => void (running = false));
      const work = (async () => {
        while (running) {
          const child = spawn(process.execPath, [compiled(program), JSON.stringify(settings)]);
          onTestFinished(() => void child.kill("SIGKILL"));
          createInterface({ input: child.stdout }).on("line", (line) => handled.add(line));
          const [, signal] = await once(child, "exit");
          if (running && signal === "SIGKILL") deaths++;
        }
      })();
      void work;
      await until(() => handled.size === total - 1, "all others are handled", 120_000);
      await until(async () => (await client.deadLetters.list(topic)).length > 0, "the dead letter");
      const dead = await client.deadLetters.list(topic);
      expect(dead).toMatchObject([{ reason: "undeliverable", text: '"kill"' }]);
      // The first time nobody knows which of the messages under way it was.
      expect(deaths).toBe(3);
    },
  );
});
