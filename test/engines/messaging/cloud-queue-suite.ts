import {
  CreateQueueCommand,
  DeleteQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { App, CloudQueueConfig } from "stoa";
import { type ConsumeRequest, createSqsBroker, type Delivery } from "stoa/messaging";
import { testBroker } from "stoa/testing/broker";
import { describe, expect, it } from "vitest";
import { delayCases } from "../../../src/testing/broker/consumers.js";
import { runCase } from "../../../src/testing/broker/harness.js";
import { clients, connected, silent, uniqueTopic, until } from "./harness.js";

export const credentials = { accessKeyId: "test", secretAccessKey: "test" };

/** The cases of cloud queues, for an emulator. */
export function cloudQueueSuite(name: string, endpoint: () => string): void {
  // Without long polling, which the case of an application has: the end of a consumer waits for its last request.
  const settings = () => ({ endpoint: endpoint(), credentials, waitTime: 0, connectTimeout: "1m" }) as const;
  // Order is kept by FIFO queues only.
  const fifo = { name: `${name}, with FIFO queues`, connect: () => createSqsBroker({ ...settings(), fifo: true }) };
  testBroker({ ...fifo, abilities: [] }, { describe, it });
  const standard = { name: `${name}, with standard queues`, connect: () => createSqsBroker(settings()) };
  for (const [sentence, body] of Object.entries(delayCases)) it(sentence, () => runCase(standard, body));
  const open = clients(standard);

  it("A request and a transaction are refused on a cloud queue, with the reason", async () => {
    const client = await open();
    const topic = uniqueTopic();
    await expect(client.request(topic, 1)).rejects.toThrow("the sqs broker has no way back for replies");
    await expect(client.transaction(async () => {})).rejects.toThrow("has no transactions: use the outbox, or Kafka");
    const consumer = client.subscribe(topic, { transactional: true }, () => {});
    await expect(consumer).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it("A failed message of a standard queue is tried again with its attempts counted, and is a dead letter after the last one", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const attempts: number[] = [];
    const consumer = await client.subscribe(topic, { retry: { delay: 0.1, jitter: 0, attempts: 2 } }, (message) => {
      attempts.push(message.attempt);
      throw new Error("no");
    });
    await client.publish(topic, 1, { key: null });
    await until(async () => (await client.deadLetters.list(topic)).length === 1);
    expect(attempts).toEqual([1, 2]);
    expect(consumer.stats().results).toMatchObject({ retried: 1, dead: 1 });
  });

  it("A message of a cloud queue stays hidden from other consumers as long as its handler runs", async () => {
    const [first, second] = await Promise.all([1, 2].map(() => connected({ connect: () => short() })));
    const topic = uniqueTopic();
    const seen: string[] = [];
    let end = () => {};
    await first!.subscribe(topic, {}, () => {
      seen.push("first");
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await first!.publish(topic, "long");
    await until(() => seen.length === 1);
    await second!.subscribe(topic, {}, (message) => {
      seen.push(`second ${message.value}`);
    });
    // A message that nobody extends, with the same timeout, has come back: the handled one could have too.
    const other = uniqueTopic();
    const raw = await short();
    await raw.open();
    const deliveries: Delivery[] = [];
    await first!.publish(other, "abandoned");
    const consumer = await raw.consume(requestOf(other), {
      deliver: (delivery) => void deliveries.push(delivery),
      lost: () => {},
      failed: () => {},
    });
    await until(() => deliveries.length === 1);
    await consumer.stop();
    const sdk = new SQSClient({ region: "us-east-1", endpoint: endpoint(), credentials });
    const { QueueUrl } = await sdk.send(new CreateQueueCommand({ QueueName: uniqueTopic() }));
    await sdk.send(new SendMessageCommand({ QueueUrl, MessageBody: "clock" }));
    for (let times = 0; times < 2; ) {
      const { Messages = [] } = await sdk.send(
        new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 1, WaitTimeSeconds: 2 }),
      );
      times += Messages.length;
    }
    expect(seen).toEqual(["first"]);
    end();
    await until(async () => (await first!.consumers[0]!.lag()) === 0);
    expect(seen).toEqual(["first"]);
    await consumer.close();
    for (const closing of [raw, first!, second!]) await closing.close();
    sdk.destroy();

    function short() {
      return createSqsBroker({ ...settings(), visibilityTimeout: 1 });
    }
  });

  it("A delivery of a cloud queue cannot be acknowledged when its time is up, and its message is delivered again", async () => {
    const client = await open();
    const topic = uniqueTopic();
    await client.publish(topic, 1);
    const broker = await createSqsBroker({ ...settings(), visibilityTimeout: 30 });
    const deliveries: Delivery[] = [];
    const lost: Delivery[] = [];
    const consumer = await broker.consume(requestOf(topic), {
      deliver: (delivery) => void deliveries.push(delivery),
      lost: (delivery) => void lost.push(delivery),
      failed: () => {},
    });
    await until(() => deliveries.length === 1);
    const now = performance.now.bind(performance);
    // As after a pause of the process.
    performance.now = () => now() + 31_000;
    try {
      await expect(deliveries[0]!.ack()).rejects.toMatchObject({ code: "LOST" });
    } finally {
      performance.now = now;
    }
    await consumer.close();
    await broker.close();
    const handled: unknown[] = [];
    await client.subscribe(topic, {}, (message) => {
      handled.push(message.value);
    });
    await until(() => handled.length === 1);
  });

  it("A message of a foreign sender is handled, with its attributes as headers", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, (message) => {
      seen.push([message.text, message.headers.tenant, message.key]);
    });
    const sdk = new SQSClient({ region: "us-east-1", endpoint: endpoint(), credentials });
    const { QueueUrl } = await sdk.send(new CreateQueueCommand({ QueueName: topic }));
    const MessageAttributes = {
      Tenant: { DataType: "String", StringValue: "t1" },
      stoa: { DataType: "String", StringValue: "not an envelope" },
    };
    await sdk.send(new SendMessageCommand({ QueueUrl, MessageBody: "plain", MessageAttributes }));
    sdk.destroy();
    await until(() => seen.length === 1);
    expect(seen).toEqual([["plain", "t1", null]]);
  });

  it("A message without bytes, and one with an empty key, are handled", async () => {
    const client = await connected(fifo);
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(topic, {}, ({ bytes, key }) => void seen.push([bytes.length, key]));
    await client.publish(topic, new Uint8Array(0), { key: "" });
    await until(() => seen.length === 1);
    expect(seen).toEqual([[0, ""]]);
    await client.close();
  });

  it("A queue that is deleted is created again, for publishers and for its consumer", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    const sdk = new SQSClient({ region: "us-east-1", endpoint: endpoint(), credentials });
    const { QueueUrl } = await sdk.send(new CreateQueueCommand({ QueueName: topic }));
    await sdk.send(new DeleteQueueCommand({ QueueUrl }));
    sdk.destroy();
    await until(() => !consumer.connected, "the loss of the queue");
    await until(() => consumer.connected, "the new queue");
    await until(
      () =>
        client.publish(topic, 1).then(
          () => true,
          () => false,
        ),
      "a publish",
    );
    await until(() => seen.length > 0, "the message");
  });

  it("An unknown queue, a group, a pattern, a broadcast and a delay of a FIFO queue are clear errors", async () => {
    const strict = await connected({ connect: () => createSqsBroker({ ...settings(), createQueues: false }) });
    const topic = uniqueTopic("unknown.queue");
    await expect(strict.publish(topic, 1)).rejects.toThrow(
      `does not know the queue '${topic.replaceAll(".", "-")}', and 'createQueues' is false`,
    );
    await strict.close();
    const client = await open();
    await expect(client.subscribe("a", { group: "billing" }, () => {})).rejects.toThrow("the sqs broker has no groups");
    await expect(client.subscribe(/^a/, {}, () => {})).rejects.toThrow("the sqs broker cannot list its topics");
    await expect(client.subscribe("a", { broadcast: true }, () => {})).rejects.toThrow("cannot broadcast");
    await expect(client.publish(`${topic}.fifo`, 1, { delay: 1 })).rejects.toThrow("FIFO queues cannot delay");
  });

  it("An application with a cloud queue publishes and handles a message, and stops", async () => {
    const app = new App();
    app.logger = silent();
    app.enable_cloud_queue(new CloudQueueConfig({ ...settings(), waitTime: 1 }));
    const topic = uniqueTopic();
    let handled = 0;
    app.onMessage(topic, () => void handled++);
    await app.start();
    await app.publish(topic, 1);
    await until(() => handled === 1);
    await app.stop();
  });
}

function requestOf(topic: string): ConsumeRequest {
  const deadLetterTopic = null;
  return { topic, group: "stoa", prefetch: 1, from: "start", broadcast: false, deadLetterTopic, maxDeliveries: 20 };
}
