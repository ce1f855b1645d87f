import { CloudQueueConfig } from "stoa";
import type { OutgoingRecord } from "stoa/messaging";
import { expect, it, vi } from "vitest";
import type { Delivery } from "../../../src/engines/messaging/broker.js";
import type { SqsLibrary, SqsSendEntry } from "../../../src/engines/messaging/sqs/library.js";
import { SqsBroker } from "../../../src/engines/messaging/sqs/sqs-broker.js";
import { SqsConsumer } from "../../../src/engines/messaging/sqs/sqs-consumer.js";
import { Turns } from "../../../src/engines/messaging/suspects.js";

/** A broker whose service notes the batches that it gets, and confirms them. */
function noting() {
  const batches: SqsSendEntry[][] = [];
  class Command {
    constructor(readonly input: { readonly Entries?: SqsSendEntry[] }) {}
  }
  class SQSClient {
    async send({ input: { Entries } }: Command) {
      if (Entries === undefined) return { QueueUrl: "http://queue" };
      batches.push(Entries);
      return { Successful: Entries.map(({ Id }) => ({ Id })) };
    }
  }
  const library = { SQSClient, commands: { GetQueueUrl: Command, SendMessageBatch: Command } };
  return { batches, broker: new SqsBroker(library as unknown as SqsLibrary, new CloudQueueConfig()) };
}

function recordOf(topic: string, id: string, size = 1): OutgoingRecord {
  return { topic, id, key: "k", headers: {}, body: Buffer.alloc(size, "x"), timestamp: 1, delayMs: 0 };
}

it("A message that is sent to a FIFO queue again has the deduplication id of before, and another message has another one", async () => {
  const { batches, broker } = noting();
  const [first, second] = [recordOf("t.fifo", "same"), recordOf("t.fifo", "same")];
  await broker.publish([first, second]);
  await broker.publish([first]);
  const [one, two, again] = batches.flat().map((entry) => entry.MessageDeduplicationId);
  expect(again).toBe(one);
  expect(two).not.toBe(one);
});

it("A batch for SQS has at most ten messages, and a mebibyte", async () => {
  const { batches, broker } = noting();
  const sizes = [600_000, 600_000, ...Array.from({ length: 12 }, () => 1)];
  await broker.publish(sizes.map((size, n) => recordOf("t", String(n), size)));
  expect(batches.map((batch) => batch.length)).toEqual([1, 10, 3]);
});

it("A suspect is handled as soon as the slow one before it has ended, whatever ends in the turn in which it came", async () => {
  vi.useFakeTimers();
  try {
    /** True if the second suspect was handled at once. It comes so many microtasks before the end of another message. */
    const isHandled = async (lead: number): Promise<boolean> => {
      const replies: ((messages: object[]) => void)[] = [];
      const deliveries: Delivery[] = [];
      const service = {
        config: { visibilityTimeout: 3600, waitTime: 20 },
        urlOf: async () => "http://queue",
        isFifo: () => false,
        call: async (name: string) => {
          if (name !== "ReceiveMessage") return {};
          return { Messages: await new Promise<object[]>((resolve) => replies.push(resolve)) };
        },
      };
      const sink = { deliver: (delivery: Delivery) => deliveries.push(delivery), lost: () => {}, failed: () => {} };
      const request = { topic: "t", prefetch: 5, deadLetterTopic: null };
      const consumer = new SqsConsumer(service as never, request as never, sink as never, async () => {}, new Turns());
      const message = (id: string, count: number) => ({
        MessageId: id,
        ReceiptHandle: id,
        Body: "x",
        Attributes: { ApproximateReceiveCount: String(count) },
      });
      const opened = consumer.open();
      await vi.advanceTimersByTimeAsync(1);
      replies[0]!([message("slow suspect", 9)]);
      await opened;
      // It is handled alone for five seconds, then beside others.
      await vi.advanceTimersByTimeAsync(6000);
      replies[1]!([message("other", 1)]);
      await vi.advanceTimersByTimeAsync(1);
      replies[2]!([message("second suspect", 9)]);
      for (let n = 0; n < lead; n++) await Promise.resolve();
      const [slow, other] = deliveries;
      await other!.release();
      await vi.advanceTimersByTimeAsync(1);
      expect(deliveries).toHaveLength(2);
      await slow!.release();
      await vi.advanceTimersByTimeAsync(1);
      return deliveries.length === 3;
    };
    const leads = Array.from({ length: 30 }, (_, lead) => lead);
    const handled = [];
    for (const lead of leads) handled.push(await isHandled(lead));
    expect(handled).toEqual(leads.map(() => true));
  } finally {
    vi.useRealTimers();
  }
});
