import {
  CreateQueueCommand,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { startFauxqs } from "fauxqs";
import { createSqsBroker, openMessaging } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { credentials } from "./cloud-queue-suite.js";
import { oddMessagesContract } from "./odd-messages.js";

interface Sent {
  readonly body: string;
  readonly attributes?: Record<string, MessageAttributeValue>;
}

const text = (value: string): MessageAttributeValue => ({ DataType: "String", StringValue: value });
const enveloped = (envelope: object | string): Sent => ({
  body: "1",
  attributes: { stoa: text(typeof envelope === "string" ? envelope : JSON.stringify(envelope)) },
});
const usual = { id: "1", key: null, time: 1_700_000_000_000, headers: {} };

describe("Messages that other programs send through SQS", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  let sdk: SQSClient;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
    sdk = new SQSClient({ region: "us-east-1", endpoint: server.address, credentials });
  });
  afterAll(async () => {
    sdk.destroy();
    await server.stop();
  });

  it("A topic uses the queue that the option queues gives it", async () => {
    const { QueueUrl } = await sdk.send(new CreateQueueCommand({ QueueName: "given" }));
    const options = { endpoint: server.address, credentials, queues: { orders: QueueUrl! } };
    const client = await openMessaging(await createSqsBroker(options));
    await client.publish("orders", "through");
    const { Messages } = await sdk.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    expect(Messages?.map(({ Body }) => Body)).toEqual(['"through"']);
    await client.close();
  });

  oddMessagesContract<Sent>("SQS", {
    group: "stoa",
    backend: { connect: () => createSqsBroker({ endpoint: server.address, credentials, waitTime: 0 }) },
    plain: (body) => ({ body }),
    async send(topic, { body, attributes }) {
      const { QueueUrl } = await sdk.send(new CreateQueueCommand({ QueueName: topic }));
      await sdk.send(new SendMessageCommand({ QueueUrl, MessageBody: body, MessageAttributes: attributes }));
    },
    messages: {
      "a message without attributes": { body: "1" },
      "a body of as many bytes as the queue takes": { body: "x".repeat(1_048_576) },
      "JSON that is nested deeply": { body: "[".repeat(100_000) },
      "an attribute that is binary, and a number": {
        body: "1",
        attributes: {
          bytes: { DataType: "Binary", BinaryValue: Buffer.from([0, 255]) },
          number: { DataType: "Number", StringValue: "1e100" },
          constructor: text("c"),
        },
      },
      "an envelope that is no JSON": enveloped("{"),
      "an envelope that is nested deeply": enveloped("[".repeat(50_000)),
      "an envelope with an empty id": enveloped({ ...usual, id: "" }),
      "an envelope with an id of 100,000 characters": enveloped({ ...usual, id: "x".repeat(100_000) }),
      "an envelope with an id that has U+0000": enveloped({ ...usual, id: "a\0b" }),
      "an envelope with a time that JSON reads as infinite": enveloped('{"id":"1","time":1e999,"headers":{}}'),
      "an envelope with a time before 1970": enveloped({ ...usual, time: -5 }),
      "an envelope with a time that is an object": enveloped({ ...usual, time: { valueOf: 1, toString: 1 } }),
      "an envelope with a key that has half of a surrogate pair": enveloped({ ...usual, key: "\ud800\0" }),
      "an envelope with an empty key": enveloped({ ...usual, key: "" }),
      "an envelope with headers that are not texts": enveloped({ ...usual, headers: { a: 1, b: null, c: ["d"] } }),
      "an envelope with headers named like parts of the language": enveloped(
        '{"id":"1","time":1,"headers":{"__proto__":"p","constructor":"c"}}',
      ),
      "an envelope with 10,000 headers": enveloped({
        ...usual,
        headers: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`h${n}`, "x"])),
      }),
      "an envelope with forged headers of dead letters": enveloped({
        ...usual,
        headers: {
          "stoa-dead-reason": "invalid",
          "stoa-dead-at": "never",
          "stoa-dead-cut": "1",
          "stoa-attempt": "NaN",
        },
      }),
      "an envelope with a reply address": enveloped({ ...usual, headers: { "stoa-reply-to": "x.replies" } }),
    },
  });
});
