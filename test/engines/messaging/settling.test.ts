import type { Delivery, IncomingRecord } from "stoa/messaging";
import { MessagingError } from "stoa/messaging";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { claimId, type HeldClaim } from "../../../src/engines/messaging/consume/claim.js";
import { conclude, giveBack } from "../../../src/engines/messaging/consume/conclude.js";
import { type ConsumerContext, InFlightMessage } from "../../../src/engines/messaging/consume/in-flight-message.js";
import { readRetry } from "../../../src/engines/messaging/consume/retry.js";
import { silent } from "./harness.js";

/** A delivery that notes how it is settled. */
function delivered(fields: Partial<IncomingRecord> = {}, parts: object = {}) {
  const settled: unknown[] = [];
  const record = { id: "1", key: null, headers: {}, body: new Uint8Array(1), timestamp: 1, ...fields };
  const delivery: Delivery = {
    record,
    earlier: 0,
    ack: () => void settled.push("ack"),
    release: async () => void settled.push("release"),
    retry: async (headers, delayMs) => void settled.push(["retry", headers["stoa-attempt"], delayMs]),
  };
  return { held: new InFlightMessage(delivery, placeOf(parts)), settled };
}

/** The part of a consumer that settling uses. */
function placeOf(parts: object): ConsumerContext {
  const settings = { retry: readRetry("a test", { attempts: 3 }), deadLetter: "t.dead", group: "g", batch: null };
  const withoutSlot = <T>(_: InFlightMessage, wait: () => Promise<T>) => wait();
  const stopping = new AbortController().signal;
  return { topic: "t", settings, logger: silent(), withoutSlot, stopping, ...parts } as unknown as ConsumerContext;
}

describe("Messages whose consumer ends", () => {
  it("A message goes back with the attempts that were made, if no message of its key could overtake it", async () => {
    const { held, settled } = delivered();
    expect(await giveBack(held, 2, 1)).toBe("released");
    expect(settled).toEqual([["retry", "2", 0]]);
  });

  it("A message goes back as it was if it has a key, or if no attempt was made", async () => {
    for (const [key, attempts] of [
      ["k", 2],
      [null, 1],
    ] as const) {
      const { held, settled } = delivered({ key });
      expect(await giveBack(held, attempts, 1)).toBe("released");
      expect(settled).toEqual(["release"]);
    }
  });
});

describe("Messages that failed", () => {
  const failed = (delayMs: number) => ({ kind: "retry", error: new Error("no"), delayMs }) as const;

  it("A message waits for its next attempt at the broker, with its attempts", async () => {
    const { held, settled } = delivered();
    expect(await conclude(held, failed(500), 0)).toBe("retried");
    expect(settled).toEqual([["retry", "1", 500]]);
  });

  it("A message is tried again in the process if there is no pause", async () => {
    const { held, settled } = delivered();
    expect(await conclude(held, failed(0), 0)).toEqual({ attempts: 1, pause: 0 });
    expect(settled).toEqual([]);
  });

  it("There is a pause between two tries to store a dead letter, also after the time of its handler was up", async () => {
    const aborted: boolean[] = [];
    const publish = async () => {
      aborted.push(held.signal.aborted);
      if (aborted.length === 1) throw new MessagingError("UNREACHABLE", "away");
    };
    const { held, settled } = delivered({}, { publisher: { publish } });
    held.abort(new Error("too slow"));
    expect(await conclude(held, failed(0), 2)).toBe("dead");
    // A signal that is aborted would end the pause at once.
    expect(aborted).toEqual([false, false]);
    expect(settled).toEqual(["ack"]);
  });
});

describe("Claims on the ids of messages", () => {
  const claimed = async (renewed: () => Promise<boolean>) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const renew = vi.fn(renewed);
    const claim = { renew, done: async () => true, release: async () => true };
    const { held } = delivered({}, { store: { begin: async () => claim } });
    return { held, renew, mine: (await claimId(held)) as HeldClaim };
  };

  it("A claim is renewed while the handler runs, and not after its end", async () => {
    const { held, renew, mine } = await claimed(async () => true);
    await vi.advanceTimersByTimeAsync(25_000);
    expect(renew).toHaveBeenCalledTimes(2);
    await mine.end(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renew).toHaveBeenCalledTimes(2);
    expect(held.lost).toBe(false);
  });

  it("A claim makes the message lost when another handler has it, and not while the store does not respond", async () => {
    const results = [() => Promise.reject(new Error("away")), async () => false];
    const { held } = await claimed(() => results.shift()!());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(held.lost).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(held.lost).toBe(true);
  });
});
