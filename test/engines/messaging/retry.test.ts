import { afterEach, describe, expect, it, vi } from "vitest";
import { pauseAfter, readRetry } from "../../../src/engines/messaging/consume/retry.js";
import fc from "../../support/properties.js";

describe("pauses between attempts", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("Pauses between attempts grow by the factor up to the longest, less a random share", () => {
    const retry = readRetry("x", { delay: 1, factor: 2, maxDelay: 5, jitter: 0.5 });
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    expect([1, 2, 3, 4, 5].map((attempt) => pauseAfter(attempt, retry))).toEqual([1000, 2000, 4000, 5000, 5000]);
    random.mockReturnValue(1);
    expect(pauseAfter(1, retry)).toBe(500);
  });

  it("Pauses between attempts stay within bounds for any attempt", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), (attempt) => {
        const pause = pauseAfter(attempt, readRetry("x", {}));
        expect(pause).toBeGreaterThanOrEqual(500);
        expect(pause).toBeLessThanOrEqual(60_000);
      }),
    );
  });
});
