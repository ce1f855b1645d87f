import cluster from "node:cluster";
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

const nothing = () => {};

/** An application whose broker gives few messages at a time, and what it warns of. */
function narrowApp() {
  const warnings: string[] = [];
  const app = new App();
  const logger = { debug: nothing, info: nothing, warn: (text: string) => void warnings.push(text), error: nothing };
  app.logger = { ...logger, child: () => app.logger };
  // Nothing listens there: the settings are looked at before.
  app.enableAmqp({ url: "amqp://127.0.0.1:1", prefetchCount: 5, connectTimeout: "100ms" });
  return { app, warnings };
}

it("The start warns of a prefetch in the configuration of a broker below the concurrency or batches of a consumer", async () => {
  const { app, warnings } = narrowApp();
  app.onMessage("many", { concurrency: 50 }, nothing);
  app.onMessage("batches", { batch: 100 }, nothing);
  app.onMessage("given", { concurrency: 50, prefetch: 50 }, nothing);
  app.onMessage("enough", { concurrency: 5 }, nothing);
  app.onMessage("usual", nothing);
  await expect(app.start()).rejects.toThrow();
  const text = "the configuration of the amqp broker says so. Raise it there, or set 'prefetch' of the consumer to";
  expect(warnings.filter((each) => each.includes("at a time"))).toEqual([
    `the consumer of 'many' gets at most 5 messages at a time, not 50 ('concurrency' is 50): ${text} 50`,
    `the consumer of 'batches' gets at most 5 messages at a time, not 100 (1 x 100 of 'batch'): ${text} 100`,
  ]);
});

it("Only the first worker of a server warns of the settings of consumers", async () => {
  const { app, warnings } = narrowApp();
  app.onMessage("many", { concurrency: 50 }, nothing);
  const { worker } = cluster;
  onTestFinished(() => void Object.assign(cluster, { worker }));
  Object.assign(cluster, { worker: { id: 2 } });
  await hostOf(app).prepare();
  expect(warnings).toEqual([]);
});

it("The group of consumers is the name of the application, unless one is given", async () => {
  expect((await createAmqpBroker({}, "shop")).defaultGroup).toBe("shop");
  expect((await createKafkaBroker({ groupId: "billing" }, "shop")).defaultGroup).toBe("billing");
  expect((await createKafkaBroker()).defaultGroup).toBe("stoa");
  const groupsOf = async (app: App) => {
    app.onMessage("orders", () => {});
    hostOf(app).configure({ ...defaultSettings(), name: "The Book Shop" });
    await app.start();
    onTestFinished(async () => void (await app.stop()));
    return app.messaging.consumers.map(({ group }) => group);
  };
  expect(await groupsOf(new App().enableMemoryBroker())).toEqual(["The-Book-Shop"]);
  expect(await groupsOf(new App().enableMemoryBroker({ groupId: "billing" }))).toEqual(["billing"]);
});
