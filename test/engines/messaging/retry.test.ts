import { describe, expect, it } from "vitest";
import { rounded } from "../../../src/engines/messaging/amqp/topology.js";
import { pauseAfter, readRetry } from "../../../src/engines/messaging/consume/retry.js";
import fc from "../../support/properties.js";

describe("pauses between attempts", () => {
  it("Pauses between attempts grow by the factor up to the longest, less a random share", () => {
    const retry = readRetry("x", { delay: 1, factor: 2, maxDelay: 5, jitter: 0.5 });
    expect([1, 2, 3, 4, 5].map((attempt) => pauseAfter(attempt, retry, () => 0))).toEqual([
      1000, 2000, 4000, 5000, 5000,
    ]);
    expect(pauseAfter(1, retry, () => 1)).toBe(500);
  });

  it("Pauses between attempts stay within bounds for any attempt", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
        const pause = pauseAfter(attempt, readRetry("x", {}), () => random);
        expect(pause).toBeGreaterThanOrEqual(500);
        expect(pause).toBeLessThanOrEqual(60_000);
      }),
    );
  });

  it("Pauses between attempts are rounded up to few values, so that there are few retry queues", () => {
    const values = new Set(Array.from({ length: 100_000 }, (_, delay) => rounded(delay)));
    expect(values.size).toBeLessThan(40);
    for (let delay = 1; delay < 100_000; delay += 37) {
      expect(rounded(delay)).toBeGreaterThanOrEqual(delay);
      expect(rounded(delay)).toBeLessThanOrEqual(Math.max(10, delay * 1.7));
    }
  });
});
