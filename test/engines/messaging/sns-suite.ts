import {
  CreateTopicCommand,
  DeleteTopicCommand,
  ListSubscriptionsCommand,
  PublishCommand,
  SNSClient,
} from "@aws-sdk/client-sns";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { App, CloudQueueConfig, type CloudQueueOptions } from "stoa";
import { createSqsBroker } from "stoa/messaging";
import { testBroker } from "stoa/testing/broker";
import { describe, expect, it, onTestFinished } from "vitest";
import { credentials } from "./cloud-queue-suite.js";
import { clients, connected, silent, uniqueTopic, until } from "./harness.js";

/** The cases of fan-out by SNS, for an emulator of SNS and SQS. */
export function fanOutSuite(name: string, endpoint: () => string): void {
  const settings = (): CloudQueueOptions => ({ endpoint: endpoint(), credentials, waitTime: 0, fanOut: true });
  const backend = (more: CloudQueueOptions = {}) => ({ connect: () => createSqsBroker({ ...settings(), ...more }) });
  const sdk = () => {
    const sns = new SNSClient({ region: "us-east-1", endpoint: endpoint(), credentials });
    onTestFinished(() => sns.destroy());
    return sns;
  };
  const open = clients(backend());

  // SNS drops what is published before the first group has its queue.
  const fifo = { ...backend({ fifo: true }), prepare: (topic: string) => subscribed(topic, { fifo: true }) };
  testBroker({ name: `${name}, with SNS and FIFO queues`, ...fifo, abilities: [] }, { describe, it });

  async function subscribed(topic: string, more: CloudQueueOptions = {}): Promise<void> {
    const client = await connected(backend(more));
    await client.subscribe(topic, {}, () => {});
    await client.close();
  }

  it("Each group gets every message once, with its headers and its key, and the members of a group share them", async () => {
    const [first, second] = [await open(), await open()];
    const topic = uniqueTopic("orders.eu");
    const seen = { billing: [] as unknown[], shipping: [] as unknown[] };
    for (const client of [first, second])
      await client.subscribe(topic, { group: "billing" }, ({ value }) => void seen.billing.push(value));
    await first.subscribe(topic, { group: "shipping" }, (message) => {
      seen.shipping.push([message.value, message.headers["tenant"], message.key, message.topic]);
    });
    const values = Array.from({ length: 25 }, (_, value) => value);
    await first.publishBatch(
      topic,
      values.map((value) => ({ value, key: `k${value}`, headers: { tenant: "t1" } })),
    );
    await until(() => seen.billing.length >= 25 && seen.shipping.length >= 25, "the messages of both groups");
    await until(async () => (await first.consumers[0]!.lag()) === 0);
    expect(seen.billing.toSorted((a, b) => Number(a) - Number(b))).toEqual(values);
    expect(seen.shipping.toSorted((a, b) => (a as number[])[0]! - (b as number[])[0]!)).toEqual(
      values.map((value) => [value, "t1", `k${value}`, topic]),
    );
  });

  it("A further attempt and a dead letter concern the group that failed, also when it is sent back", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: string[] = [];
    let broken = true;
    const retry = { attempts: 2, delay: 0.1, jitter: 0 };
    await client.subscribe(topic, { group: "billing", retry }, ({ value, attempt }) => {
      seen.push(`billing ${value}.${attempt}`);
      if (broken) throw new Error("broken");
    });
    await client.subscribe(topic, { group: "shipping" }, ({ value }) => void seen.push(`shipping ${value}`));
    await client.publish(topic, 1);
    await until(async () => (await client.deadLetters.list(topic)).length === 1, "the dead letter");
    await until(() => seen.length === 3);
    expect(seen.sort()).toEqual(["billing 1.1", "billing 1.2", "shipping 1"]);
    broken = false;
    expect(await client.deadLetters.replay(topic)).toBe(1);
    await until(() => seen.length === 4);
    await client.publish(topic, 2);
    await until(() => seen.length === 6);
    expect(seen.slice(3).sort()).toEqual(["billing 1.1", "billing 2.1", "shipping 2"]);
    const misnamed = client.subscribe(topic, { group: "a", deadLetter: "failed" }, () => {});
    await expect(misnamed).rejects.toThrow("with 'fanOut' a topic of dead letters ends with '.dead', unlike 'failed'");
  });

  it("The messages of one key of a FIFO topic are handled in order by each group", async () => {
    const client = await open();
    const topic = `${uniqueTopic()}.fifo`;
    const seen = { a: [] as unknown[], b: [] as unknown[] };
    await client.subscribe(topic, { group: "a" }, ({ value }) => void seen.a.push(value));
    await client.subscribe(topic, { group: "b" }, ({ value }) => void seen.b.push(value));
    const values = Array.from({ length: 15 }, (_, value) => value);
    await client.publishBatch(
      topic,
      values.map((value) => ({ value, key: "k" })),
    );
    await until(() => seen.a.length === 15 && seen.b.length === 15);
    expect(seen).toEqual({ a: values, b: values });
  });

  it("A message of another program that publishes to the SNS topic is handled, with its attributes as headers", async () => {
    const client = await open();
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(topic, { group: "a" }, ({ text, headers }) => void seen.push([text, headers["tenant"]]));
    const sns = sdk();
    const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: topic }));
    const MessageAttributes = { Tenant: { DataType: "String", StringValue: "t1" } };
    await sns.send(new PublishCommand({ TopicArn, Message: "plain", MessageAttributes }));
    await until(() => seen.length === 1);
    expect(seen).toEqual([["plain", "t1"]]);
  });

  it("A start with queues that exist adds no subscription, and an SNS topic that is deleted is created again", async () => {
    const topic = uniqueTopic();
    const [first, second] = [await open(), await open()];
    const seen: unknown[] = [];
    await first.subscribe(topic, { group: "a" }, () => {});
    await first.close();
    await second.subscribe(topic, { group: "a" }, ({ value }) => void seen.push(value));
    const sns = sdk();
    const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: topic }));
    const { Subscriptions = [] } = await sns.send(new ListSubscriptionsCommand({}));
    expect(Subscriptions.filter((subscription) => subscription.TopicArn === TopicArn)).toHaveLength(1);
    await second.publish(topic, 1);
    await until(() => seen.length === 1);
    await sns.send(new DeleteTopicCommand({ TopicArn }));
    await expect(second.publish(topic, 2)).rejects.toMatchObject({ code: "UNKNOWN_TOPIC" });
    await second.subscribe(topic, { group: "a" }, ({ value }) => void seen.push(value));
    await second.publish(topic, 3);
    await until(() => seen.length === 2);
    expect(seen).toEqual([1, 3]);
  });

  it("Without 'createQueues' the topic, its queues and subscriptions are used, and a missing one is a clear error", async () => {
    const topic = uniqueTopic("made.before");
    const strict = await connected(backend({ createQueues: false }));
    onTestFinished(() => strict.close());
    const Name = topic.replaceAll(".", "-");
    await expect(strict.publish(topic, 1)).rejects.toMatchObject({
      code: "UNKNOWN_TOPIC",
      message: expect.stringContaining(`does not know the SNS topic '${Name}', and 'createQueues' is false`),
    });
    await expect(strict.subscribe(topic, { group: "a" }, () => {})).rejects.toThrow(
      `does not know the queue '${Name}-a', and 'createQueues' is false`,
    );
    await subscribed(topic);
    const seen: unknown[] = [];
    await strict.subscribe(topic, {}, ({ value }) => void seen.push(value));
    await strict.publish(topic, 1);
    await until(() => seen.length === 1);
  });

  it("A delay, a message over the limit of SNS and a broadcast are refused, and a queue URL in the configuration", async () => {
    const client = await open();
    const topic = uniqueTopic();
    await expect(client.publish(topic, 1, { delay: 1 })).rejects.toThrow("the sqs broker cannot delay messages");
    await expect(client.publish(topic, "x".repeat(262_144))).rejects.toMatchObject({ code: "TOO_LARGE" });
    await expect(client.subscribe(topic, { broadcast: true }, () => {})).rejects.toThrow("cannot broadcast");
    const queueUrl = "http://127.0.0.1/1/orders";
    expect(() => new CloudQueueConfig({ fanOut: true, queueUrl })).toThrow("goes with 'queues', not with 'queueUrl'");
  });

  it("The name of an application is the group of its consumers, and so part of the name of their queue", async () => {
    const client = await connected({ connect: () => createSqsBroker(settings(), "shop") });
    onTestFinished(() => client.close());
    const topic = uniqueTopic();
    await client.subscribe(topic, {}, () => {});
    const sqs = new SQSClient({ region: "us-east-1", endpoint: endpoint(), credentials });
    onTestFinished(() => sqs.destroy());
    const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: topic }));
    expect(QueueUrls.map((url) => url.split("/").at(-1)).sort()).toEqual([`${topic}-dead`, `${topic}-shop`]);
  });

  it("An application with fan-out publishes, handles and stops", async () => {
    const app = new App();
    app.logger = silent();
    app.enableCloudQueue({ ...settings(), waitTime: 1 });
    const topic = uniqueTopic();
    const seen: string[] = [];
    app.onMessage(topic, { group: "a" }, () => void seen.push("a"));
    app.onMessage(topic, { group: "b" }, () => void seen.push("b"));
    await app.start();
    await app.publish(topic, 1);
    await until(() => seen.length === 2);
    expect(seen.sort()).toEqual(["a", "b"]);
    await app.stop();
  });
}
