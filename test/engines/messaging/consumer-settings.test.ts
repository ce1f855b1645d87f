import { App } from "stoa";
import { type Broker, createAmqpBroker, createKafkaBroker, createSqsBroker } from "stoa/messaging";
import { expect, it, onTestFinished } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { defaultSettings } from "../../../src/app/settings.js";
import { consumerSettings } from "../../../src/engines/messaging/consume/options.js";
import { asTopic } from "../../../src/engines/messaging/topic.js";

const prefetchOf = (broker: Broker, options: object = {}) =>
  consumerSettings(asTopic("orders"), options, broker, "1").prefetch;

it("The prefetch in the configuration of a broker bounds consumers that name none, also below their concurrency", async () => {
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const given = [
    await createAmqpBroker({ prefetchCount: 1 }),
    await createKafkaBroker({ prefetch: 1 }),
    await createSqsBroker({ prefetch: 1, credentials }),
  ];
  expect(given.map((broker) => prefetchOf(broker))).toEqual([1, 1, 1]);
  expect(given.map((broker) => prefetchOf(broker, { concurrency: 50 }))).toEqual([1, 1, 1]);
  expect(given.map((broker) => prefetchOf(broker, { prefetch: 30 }))).toEqual([30, 30, 30]);
  const usual = [await createAmqpBroker(), await createKafkaBroker(), await createSqsBroker({ credentials })];
  expect(usual.map((broker) => prefetchOf(broker))).toEqual([20, 100, 20]);
  expect(usual.map((broker) => prefetchOf(broker, { concurrency: 200 }))).toEqual([200, 200, 200]);
});

it("The group of consumers is the name of the application, unless one is given", async () => {
  expect((await createAmqpBroker({}, "shop")).defaultGroup).toBe("shop");
  expect((await createKafkaBroker({ groupId: "billing" }, "shop")).defaultGroup).toBe("billing");
  expect((await createKafkaBroker()).defaultGroup).toBe("stoa");
  const app = new App();
  app.enableMemoryBroker();
  app.onMessage("orders", () => {});
  hostOf(app).configure({ ...defaultSettings(), name: "The Book Shop" });
  await app.start();
  onTestFinished(async () => void (await app.stop()));
  expect(app.messaging.consumers.map(({ group }) => group)).toEqual(["The-Book-Shop"]);
});
