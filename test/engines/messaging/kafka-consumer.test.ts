import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import type { Delivery, MessagingError } from "stoa/messaging";
import { expect, it } from "vitest";
import type { ConsumeRequest, DeliverySink } from "../../../src/engines/messaging/broker.js";
import type { KafkaClients } from "../../../src/engines/messaging/kafka/clients.js";
import { KafkaConsumer } from "../../../src/engines/messaging/kafka/kafka-consumer.js";
import { until } from "./harness.js";

class FakeStream extends PassThrough {
  readonly offsetsToFetch = new Map([["t:0", 0n]]);

  constructor() {
    super({ objectMode: true });
  }

  async close(): Promise<void> {
    this.destroy();
  }
}

/** A client of a broker that dies: it has no answer to the question for the offsets of its second stream. */
class FakeClient extends EventEmitter {
  readonly streams: FakeStream[] = [];
  readonly assignments = [{ topic: "t", partitions: [0] }];
  readonly lastHeartbeat = null;

  async consume(): Promise<FakeStream> {
    const stream = new FakeStream();
    if (this.streams.push(stream) === 1) setImmediate(() => stream.emit("offsets"));
    return stream;
  }

  async listCommittedOffsets(): Promise<Map<string, bigint[]>> {
    return new Map([["t", [0n]]]);
  }

  async commit(): Promise<void> {}

  async close(): Promise<void> {}
}

it("An acknowledgement that waits for the partitions of a group ends when the consumer fails meanwhile", async () => {
  const client = new FakeClient();
  const clients = {
    config: { sessionTimeout: 10_000 },
    consumer: () => client,
    translate: (error: unknown) => error,
  } as unknown as KafkaClients;
  const deliveries: Delivery[] = [];
  let failure: unknown = null;
  const sink: DeliverySink = {
    deliver: (delivery) => void deliveries.push(delivery),
    lost: () => {},
    failed: (error) => {
      failure = error;
    },
  };
  const request = { topic: "t", group: "g", prefetch: 10, from: "start", broadcast: false } as ConsumeRequest;
  const consumer = new KafkaConsumer(clients, request, sink);
  await consumer.open();
  const message = { offset: 0n, partition: 0, timestamp: 1n, key: null, value: Buffer.from("1"), headers: new Map() };
  client.streams[0]!.write({ topic: "t", ...message });
  await until(() => deliveries.length === 1);
  client.emit("consumer:group:join");
  await until(() => client.streams.length === 2);
  const acked = Promise.resolve(deliveries[0]!.ack()).then(
    () => null,
    (error: MessagingError) => error,
  );
  client.emit("error", new Error("the broker is gone"));
  expect(failure).toMatchObject({ message: "the broker is gone" });
  expect(await acked).toMatchObject({ code: "LOST" });
  await consumer.close();
});
