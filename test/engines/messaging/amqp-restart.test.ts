import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAmqpBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRabbit } from "../../../scripts/services/rabbitmq.mjs";
import { service } from "../../support/service.js";
import { connected, uniqueTopic, until } from "./harness.js";

/** A broker of its own, which is killed and started again with its data. */
describe.skipIf(!service("rabbitmq"))("RabbitMQ killed and started again under load", () => {
  let folder: string;
  let port: number;
  let rabbit: Awaited<ReturnType<typeof startRabbit>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-rabbit-restart-"));
    port = await freePort();
    rabbit = await startRabbit(folder, port);
  }, 180_000);

  afterAll(async () => {
    await rabbit?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it("No confirmed message is lost when RabbitMQ is killed and started again, each key keeps its order, and the consumer connects again by itself", async () => {
    // Classic: a quorum queue of RabbitMQ 3.10 stays without a leader if its node is killed seconds after its creation.
    const settings = { url: rabbit.value, queueType: "classic" as const };
    const client = await connected({ connect: () => createAmqpBroker(settings) }, { timeout: 100_000 });
    const name = uniqueTopic();
    const seen = new Map<string, number[]>();
    let handled = 0;
    const consumer = await client.subscribe(name, { concurrency: 5 }, (message) => {
      handled++;
      seen.set(message.key!, [...(seen.get(message.key!) ?? []), message.value as number]);
    });
    const confirmed: number[] = [];
    const total = 400;
    let restarted: Promise<void> | undefined;
    for (let value = 0; value < total; value++) {
      await client.publish(name, value, { key: `k${value % 4}` });
      confirmed.push(value);
      if (value === 150) restarted = restart();
    }
    await restarted;
    expect(confirmed).toHaveLength(total);
    await until(() => new Set([...seen.values()].flat()).size === total);
    for (const values of seen.values()) {
      const first = [...new Set(values)];
      expect(first).toEqual(first.toSorted((a, b) => a - b));
    }
    // Those that were handled, but not yet acknowledged when the broker was killed, come again.
    expect(handled - total).toBeLessThanOrEqual(20);
    expect(consumer.connected).toBe(true);
    await client.close();
  }, 180_000);

  async function restart(): Promise<void> {
    await rabbit.stop();
    rabbit = await startRabbit(folder, port, rabbit.ports);
  }
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
