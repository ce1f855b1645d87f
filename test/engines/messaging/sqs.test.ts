import { GetQueueUrlCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startFauxqs } from "fauxqs";
import { CloudQueueConfig } from "stoa";
import { createSqsBroker, type MessagingError } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloudQueueSuite, credentials } from "./cloud-queue-suite.js";
import { connected, uniqueTopic } from "./harness.js";

describe("SQS as fauxqs emulates it", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());
  cloudQueueSuite("fauxqs", () => server.address);

  it("An unreachable cloud queue is a clear error in bounded time", async () => {
    const broker = await createSqsBroker({ endpoint: "http://127.0.0.1:1", credentials, connectTimeout: 0.5 });
    const failure = await broker.open().catch((error: MessagingError) => error);
    expect(failure).toMatchObject({
      code: "UNREACHABLE",
      message: expect.stringMatching(/^the cloud queue at http:\/\/127\.0\.0\.1:1 is unreachable: .*ECONNREFUSED/),
    });
    await broker.close();
  });

  it("A topic whose queue is not the one of 'queueUrl' is refused, and no queue is created for it", async () => {
    const options = { endpoint: server.address, credentials, waitTime: 0 };
    const [orders, stray] = [uniqueTopic("orders"), uniqueTopic("stray")];
    const first = await connected({ connect: () => createSqsBroker(options) });
    await first.publish(orders, 1);
    const sqs = new SQSClient({ endpoint: server.address, region: "us-east-1", credentials });
    const { QueueUrl: queueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: orders }));
    const client = await connected({ connect: () => createSqsBroker({ ...options, queueUrl: queueUrl! }) });
    await client.publish(orders, 2);
    await client.subscribe(orders, {}, () => {});
    const refused = { code: "UNKNOWN_TOPIC", message: expect.stringContaining("'queueUrl' is another queue") };
    await expect(client.publish(stray, 1)).rejects.toMatchObject(refused);
    await expect(client.subscribe(stray, {}, () => {})).rejects.toMatchObject(refused);
    const strict = await connected({ connect: () => createSqsBroker({ ...options, createQueues: false }) });
    await expect(strict.publish(stray, 1)).rejects.toMatchObject({ code: "UNKNOWN_TOPIC" });
    for (const each of [first, client, strict]) await each.close();
  });
});

describe("CloudQueueConfig", () => {
  it("CloudQueueConfig takes fields in both spellings, or a region and a queue URL, and has defaults", () => {
    expect(new CloudQueueConfig("eu-west-1", "https://sqs.example/1/orders")).toMatchObject({
      region: "eu-west-1",
      queue_url: "https://sqs.example/1/orders",
    });
    expect(new CloudQueueConfig({ visibility_timeout: 60 }).visibilityTimeout).toBe(60);
    expect(new CloudQueueConfig().waitTime).toBe(5);
  });

  it("CloudQueueConfig refuses wrong options, and has no secret key in its JSON", () => {
    expect(() => new CloudQueueConfig({ queueUrl: "orders" })).toThrow("option 'queueUrl' in CloudQueueConfig must be");
    expect(() => new CloudQueueConfig({ queue: "x" } as object)).toThrow("unknown option 'queue'");
    expect(() => new CloudQueueConfig({ credentials: { accessKeyId: "a" } as never })).toThrow("'secretAccessKey'");
    const config = new CloudQueueConfig({ credentials: { accessKeyId: "a", secretAccessKey: "secret" } });
    expect(JSON.stringify(config)).not.toContain("secret");
  });
});
