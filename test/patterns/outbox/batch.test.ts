import { describe, expect, it } from "vitest";
import type { OutgoingRecord } from "../../../src/engines/messaging/broker.js";
import { MessagingError, type MessagingErrorCode } from "../../../src/engines/messaging/errors.js";
import { publishBatch } from "../../../src/patterns/outbox/batch.js";
import type { StoredMessage } from "../../../src/patterns/outbox/storage.js";

const options = { attempts: 3, backoff: 0.1 };

function message(id: number, key: string | null, extra: Partial<StoredMessage> = {}): StoredMessage {
  const fixed = { topic: "t", headers: {}, body: String(id), bytes: null, stored_at: 0, state: "ready" as const };
  return { id, message_id: `m${id}`, key, attempts: 0, blocked: false, ...fixed, ...extra };
}

/** Sends everything but the records that are to fail; keeps the waves. */
function sender(failing: Record<string, MessagingErrorCode>) {
  const waves: string[][] = [];
  const send = async (records: readonly OutgoingRecord[]) => {
    waves.push(records.map(({ id }) => id));
    return records.map(({ id }) => (failing[id] === undefined ? null : new MessagingError(failing[id], "no")));
  };
  return { waves, send };
}

describe("a batch of the outbox", () => {
  it("Kafka gets a batch whole, in its order", async () => {
    const { waves, send } = sender({});
    const { settlement } = await publishBatch(
      [message(1, "a"), message(2, "a"), message(3, null)],
      "kafka",
      send,
      options,
    );
    expect(waves).toEqual([["m1", "m2", "m3"]]);
    expect(settlement).toEqual({ published: [1, 2, 3], failed: [], held: [] });
  });

  it("A broker that refuses single records gets one record of each key at a time, and those behind a failure are held", async () => {
    const { waves, send } = sender({ m1: "REFUSED" });
    const messages = [
      message(1, "a"),
      message(2, "a"),
      message(3, "b"),
      message(4, "b"),
      message(5, null),
      message(6, "a"),
    ];
    const { settlement } = await publishBatch(messages, "amqp", send, options);
    expect(waves).toEqual([["m1", "m3", "m5"], ["m4"]]);
    expect(settlement.published).toEqual([3, 5, 4]);
    expect(settlement.held).toEqual([2, 6]);
    expect(settlement.failed).toMatchObject([{ id: 1, error: "REFUSED: no" }]);
    expect(settlement.failed[0]!.pause).toBeGreaterThan(0);
  });

  it("Keys of different topics do not hold each other", async () => {
    const { send } = sender({ m1: "REFUSED" });
    const messages = [message(1, "a"), message(2, "a", { topic: "u" }), message(3, "a", { topic: "u" })];
    const { settlement } = await publishBatch(messages, "sqs", send, options);
    expect(settlement).toMatchObject({ published: [2, 3], held: [] });
  });

  it("The last attempt makes a message stuck, and one that no attempt can cure is stuck at once", async () => {
    const { send } = sender({ m1: "REFUSED", m2: "TOO_LARGE" });
    const messages = [message(1, null, { attempts: 2, state: "failed" }), message(2, null)];
    const { settlement, recovered } = await publishBatch(messages, "memory", send, options);
    expect(settlement.failed.map(({ id, pause }) => [id, pause])).toEqual([
      [1, null],
      [2, null],
    ]);
    expect(recovered).toBe(false);
  });

  it("A topic that is away leaves its messages as they are, and others are published", async () => {
    const { waves, send } = sender({ m1: "UNREACHABLE" });
    const messages = [message(1, "a"), message(2, "a"), message(3, "b"), message(4, "a", { topic: "u" })];
    const { settlement, away } = await publishBatch(messages, "amqp", send, options);
    expect(waves).toEqual([["m1", "m3", "m4"]]);
    expect(settlement).toEqual({ published: [3, 4], failed: [], held: [] });
    expect([...away.keys()]).toEqual(["t"]);
  });

  it("An error of the whole call concerns all messages, and a message that had failed is noticed when it goes through", async () => {
    const broken = async (): Promise<never> => {
      throw new MessagingError("TIMEOUT", "no confirmation");
    };
    expect((await publishBatch([message(1, "a")], "kafka", broken, options)).away.size).toBe(1);
    const { send } = sender({});
    const failed = message(1, "a", { state: "failed", attempts: 1 });
    expect((await publishBatch([failed], "kafka", send, options)).recovered).toBe(true);
  });
});
