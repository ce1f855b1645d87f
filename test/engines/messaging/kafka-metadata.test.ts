import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKafkaBroker } from "stoa/messaging";
import { describe, expect, it, onTestFinished } from "vitest";
import { startKafka } from "../../../scripts/services/kafka.mjs";
import { freePort } from "../../../scripts/services/ports.mjs";
import { shortened } from "../../../src/engines/messaging/kafka/group/progress.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { connected, gate, uniqueTopic, until } from "./harness.js";

it("Metadata is cut at its list of messages, or left out", () => {
  const metadata = "stoa1 me - abcdefgh";
  expect([Infinity, 19, 15, 11, 10, 5, 0].map((longest) => shortened(metadata, longest))).toEqual([
    metadata,
    metadata,
    "stoa1 me - abcd",
    "stoa1 me - ",
    "",
    "",
    "",
  ]);
});

describe.skipIf(!service("kafka"))("A broker of Kafka with a low offset.metadata.max.bytes", () => {
  it.each(isLong ? [100, 20] : [100])(
    "Messages done behind one that takes long are committed (%i bytes)",
    async (bytes) => {
      const folder = await mkdtemp(join(tmpdir(), "stoa-kafka-"));
      const kafka = await startKafka(folder, await freePort(), { settings: { "offset.metadata.max.bytes": bytes } });
      onTestFinished(async () => {
        await kafka.stop();
        await rm(folder, { recursive: true, force: true });
      });
      const connect = () =>
        createKafkaBroker({ brokers: [kafka.value], groupId: "g", partitions: 1, sessionTimeout: 6 });
      const client = await connected({ connect });
      const topic = uniqueTopic();
      const first = gate();
      const seen: unknown[] = [];
      const count = 1000;
      const consumer = await client.subscribe(topic, { prefetch: 2 * count }, ({ value }) => {
        seen.push(value);
        return value === 0 ? first.opened : undefined;
      });
      await client.publishBatch(
        topic,
        Array.from({ length: count }, (_, value) => ({ value, key: String(value) })),
      );
      await until(() => consumer.stats().results.done === count - 1, "all but the first are handled");
      // Another second, in which the group is told of those that are done: a commit that fails loses the consumer.
      await client.publish(topic, "more", { key: "more" });
      await until(() => consumer.stats().results.done === count);
      await consumer.lag();
      first.open();
      await until(async () => (await consumer.lag()) === 0, "everything is committed");
      expect(seen).toHaveLength(count + 1);
      expect(consumer.stats().results).toMatchObject({ done: count + 1, lost: 0 });
      await client.close();
      // Nothing is handled again.
      const later = await connected({ connect });
      const others: unknown[] = [];
      await later.subscribe(topic, {}, ({ value }) => void others.push(value));
      await later.publish(topic, "last");
      await until(() => others.length > 0);
      expect(others).toEqual(["last"]);
      await later.close();
    },
    300_000,
  );
});
