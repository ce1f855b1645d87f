import { CloudQueueConfig } from "stoa";
import type { OutgoingRecord } from "stoa/messaging";
import { expect, it } from "vitest";
import type { SqsLibrary, SqsSendEntry } from "../../../src/engines/messaging/sqs/library.js";
import { SqsBroker } from "../../../src/engines/messaging/sqs/sqs-broker.js";

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
  return { topic, id, key: "k", headers: {}, body: Buffer.alloc(size, "x"), timestamp: 1, delay: 0 };
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
