import { startFauxqs } from "fauxqs";
import { App } from "stoa";
import { testClient } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { service } from "../../support/service.js";
import { gate, silent, uniqueTopic, until } from "./harness.js";
import { startTunnel, type Tunnel } from "./tunnel.js";

const kafka = service("kafka");
const rabbit = service("rabbitmq");

describe("Metrics of the memory broker", () => {
  observed("the memory broker", (app) => app.enableMemoryBroker());
});

describe.skipIf(!kafka)("Metrics of Kafka", () => {
  observed("Kafka", (app) => app.enableMessaging({ brokers: [kafka!], groupId: "stoa" }));
});

describe.skipIf(!rabbit)("Metrics and readiness of RabbitMQ", () => {
  observed("RabbitMQ", (app) => app.enableAmqp({ url: rabbit! }));

  let tunnel: Tunnel;
  beforeAll(async () => {
    tunnel = await startTunnel(Number(new URL(rabbit!).port));
  });
  afterAll(() => tunnel?.close());

  it("Readiness is DOWN while the broker is away and UP again after it, and routes are served all the time", async () => {
    const app = new App();
    app.logger = silent();
    app.enableAmqp({ url: `amqp://guest:guest@127.0.0.1:${tunnel.port}`, connectTimeout: 0.5 }).enableHealthChecks();
    app.get("/", () => "served");
    app.onMessage(uniqueTopic(), () => {});
    const client = testClient(app);
    await until(async () => (await client.get("/health/ready")).status === 200);
    await tunnel.cut();
    await until(async () => (await client.get("/health/ready")).status === 503);
    expect((await client.get("/")).status).toBe(200);
    const { checks } = (await (await client.get("/health/ready")).json()) as {
      checks: Record<string, { status: string }>;
    };
    expect(checks.consumers?.status).toBe("DOWN");
    await tunnel.mend();
    await until(async () => (await client.get("/health/ready")).status === 200);
    await app.stop();
  });
});

describe("Metrics of SQS", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server?.stop());
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  observed("SQS", (app) => app.enableCloudQueue({ endpoint: server.address, credentials, waitTime: 1 }));
});

function observed(name: string, enable: (app: App) => unknown): void {
  it(`Published, handled and failed messages, those in flight and the lag are counted on ${name}`, async () => {
    const app = new App();
    app.logger = silent();
    enable(app);
    app.enableMetrics().enableHealthChecks();
    const topic = uniqueTopic();
    const begun = gate();
    const finish = gate();
    let failed = false;
    app.onMessage(topic, { concurrency: 1, prefetch: 1, retry: { delay: 0.01 } }, async (message) => {
      if (message.value === "bad" && !failed) {
        failed = true;
        throw new Error("once");
      }
      if (message.value !== "slow") return;
      begun.open();
      await finish.opened;
    });
    const client = testClient(app);
    const line = async (text: string): Promise<number> => {
      const lines = (await (await client.get("/metrics")).text()).split("\n");
      const found = lines.find(
        (entry) => text.split(" ").every((part) => entry.includes(part)) && !entry.startsWith("#"),
      );
      return Number(found?.split(" ").at(-1) ?? 0);
    };
    expect((await client.get("/health/ready")).status).toBe(200);
    await app.publish(topic, "bad", { key: "k" });
    await until(async () => (await line(`messages_handled_total ${topic} result="done"`)) === 1);
    expect(await line(`messages_failed_attempts_total ${topic}`)).toBe(1);
    expect(await line(`messages_published_total ${topic} result="ok"`)).toBe(1);
    await app.publish(topic, "slow", { key: "k" });
    await begun.opened;
    await app.publish(topic, "next", { key: "k" });
    expect(await line(`messages_in_flight ${topic}`)).toBe(1);
    await until(async () => (await line(`messages_lag ${topic}`)) === 2);
    finish.open();
    await until(async () => (await line(`messages_lag ${topic}`)) === 0);
    expect(await line(`messages_in_flight ${topic}`)).toBe(0);
    expect(await line(`messages_handled_total ${topic} result="done"`)).toBe(3);
    await app.stop();
  });
}
