import { startFauxqs } from "fauxqs";
import { CloudQueueConfig } from "stoa";
import { createSqsBroker, type MessagingError } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloudQueueSuite, credentials } from "./cloud-queue-suite.js";

describe("SQS as fauxqs emulates it", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());
  cloudQueueSuite("fauxqs", () => server.address);

  it("An unreachable cloud queue is a clear error in bounded time", async () => {
    const broker = await createSqsBroker({ endpoint: "http://127.0.0.1:1", credentials, connectTimeout: 500 });
    const failure = await broker.open().catch((error: MessagingError) => error);
    expect(failure).toMatchObject({
      code: "UNREACHABLE",
      message: expect.stringMatching(/^the cloud queue at http:\/\/127\.0\.0\.1:1 is unreachable: .*ECONNREFUSED/),
    });
    await broker.close();
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
