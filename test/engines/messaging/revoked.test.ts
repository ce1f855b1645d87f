import { MemoryBroker } from "stoa/messaging";
import { expect, it } from "vitest";
import { connected, uniqueTopic, until } from "./harness.js";

it("A handler that throws a revoked proxy has failed like any other: attempts with pauses, then a dead letter", async () => {
  const client = await connected({ connect: () => new MemoryBroker() });
  const topic = uniqueTopic();
  let attempts = 0;
  await client.subscribe(topic, { retry: { attempts: 3, delay: 0.01 } }, () => {
    attempts++;
    const { proxy, revoke } = Proxy.revocable(new Error("no"), {});
    revoke();
    throw proxy;
  });
  await client.publish(topic, 1);
  await until(async () => (await client.deadLetters.list(topic)).length === 1);
  expect(attempts).toBe(3);
  await client.close();
});
