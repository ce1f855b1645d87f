import { describe, expect, it } from "vitest";
import { boundedKey, networkOf } from "../../../src/batteries/rate-limit/identity.js";
import { RecentMap } from "../../../src/batteries/rate-limit/recent-map.js";
import { SlidingWindows } from "../../../src/batteries/rate-limit/sliding-windows.js";
import type { RateVerdict } from "../../../src/batteries/rate-limit/store.js";
import { TokenBuckets } from "../../../src/batteries/rate-limit/token-buckets.js";
import fc from "../../support/properties.js";

const windowMs = 1000;

/** Steps in time, in fractions of milliseconds, with bursts, and pauses that are longer than the window. */
const steps = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 400, noNaN: true }), fc.constant(1500)), {
  minLength: 1,
  maxLength: 120,
});

interface Taken {
  readonly at: number;
  readonly verdict: RateVerdict;
}

function play(
  limiter: (clock: () => number) => { take(key: string, limit: number): RateVerdict },
  limit: number,
  waits: readonly number[],
): Taken[] {
  // A clock that has run for days has fewer fractions to offer.
  let now = 900_000_000.123;
  const counter = limiter(() => now);
  return waits.map((wait) => {
    now += wait;
    return { at: now, verdict: counter.take("client", limit) };
  });
}

describe("a token bucket", () => {
  const bucket = (clock: () => number) => new TokenBuckets(windowMs, new RecentMap(1000, windowMs), clock);

  it("A token bucket agrees with exact counting, and never gives more than it was filled with", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), steps, (limit, waits) => {
        let tokens = limit;
        let last: number | null = null;
        for (const { at, verdict } of play(bucket, limit, waits)) {
          if (last !== null) tokens = Math.min(limit, tokens + ((at - last) * limit) / windowMs);
          last = at;
          // Where the model is at a loss by rounding, either answer is right.
          if (Math.abs(tokens - 1) > 0.01) expect(verdict.allowed).toBe(tokens > 1);
          if (verdict.allowed) tokens -= 1;
          expect(Math.abs(verdict.remaining - Math.max(0, tokens))).toBeLessThan(1.01);
        }
      }),
    );
  });

  it("A client that has waited for Retry-After is allowed, and not much earlier", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.double({ min: 0, max: 100, noNaN: true }), (limit, pause) => {
        let now = 5000;
        const buckets = new TokenBuckets(windowMs, new RecentMap(1000, windowMs), () => now);
        for (let i = 0; i < limit; i++) expect(buckets.take("a", limit).allowed).toBe(true);
        now += Math.min(pause, windowMs / limit / 2);
        const { allowed, retryMs } = buckets.take("a", limit);
        expect(allowed).toBe(false);
        now += retryMs * 0.9;
        expect(buckets.take("a", limit).allowed).toBe(false);
        now += retryMs * 0.1 + 0.001;
        expect(buckets.take("a", limit).allowed).toBe(true);
      }),
    );
  });
});

describe("a sliding window", () => {
  const sliding = (clock: () => number) => new SlidingWindows(windowMs, new RecentMap(1000, windowMs * 2), clock);

  it("A sliding window never allows more than the limit in any window", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.array(fc.constantFrom(0, 0.5, 3, 15, 100, 1100), { maxLength: 400 }),
        (limit, waits) => {
          const allowed = play(sliding, limit, waits).filter(({ verdict }) => verdict.allowed);
          for (let i = limit; i < allowed.length; i++) {
            expect(allowed[i]!.at - allowed[i - limit]!.at).toBeGreaterThanOrEqual(windowMs);
          }
        },
      ),
    );
  });

  it("A sliding window allows exactly up to 64 requests, and within a 64th of the window beyond", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), steps, (limit, waits) => {
        const allowed: number[] = [];
        const slack = limit > 64 ? windowMs / 64 + 0.001 : 0;
        for (const { at, verdict } of play(sliding, limit, waits)) {
          const busy = allowed.filter((time) => time > at - windowMs - slack).length;
          if (busy < limit) expect(verdict.allowed).toBe(true);
          if (verdict.allowed) allowed.push(at);
        }
      }),
    );
  });

  it("A sliding window reports the true wait", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(fc.integer({ min: 0, max: 30 })), (limit, waits) => {
        let now = 7000;
        const windows = new SlidingWindows(windowMs, new RecentMap(1000, windowMs * 2), () => now);
        for (const wait of waits) {
          now += wait;
          const { allowed, retryMs } = windows.take("a", limit);
          if (allowed) continue;
          now += retryMs;
          expect(windows.take("a", limit).allowed).toBe(true);
        }
      }),
    );
  });
});

describe("the memory of a rate limit", () => {
  it("The memory of a rate limit is bounded under a million clients, and the most recent keys stay", () => {
    let now = 0;
    const map = new RecentMap<{ fullAt: number; lent: number }>(1000, 1e9);
    const buckets = new TokenBuckets(60_000, map, () => now);
    for (let i = 0; i < 2; i++) buckets.take("regular", 2);
    for (let i = 0; i < 1_000_000; i++) {
      now += 0.001;
      buckets.take(`client ${i}`, 2);
      if (i % 400 === 0) expect(buckets.take("regular", 2).allowed).toBe(false);
    }
    expect(map.size).toBeLessThanOrEqual(1000);
  });

  it("A key that was not used for a window is forgotten", () => {
    let now = 0;
    const map = new RecentMap<{ fullAt: number; lent: number }>(1000, 100);
    const buckets = new TokenBuckets(100, map, () => now);
    for (let i = 0; i < 500; i++) buckets.take(`client ${i}`, 2);
    expect(map.size).toBe(500);
    now += 100;
    buckets.take("a", 2);
    now += 100;
    buckets.take("a", 2);
    expect(map.size).toBe(1);
  });

  it("Long keys are stored in bounded length, and different keys stay different", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.string({ unit: "binary", maxLength: 300 }),
        (a, b) => {
          expect(boundedKey(a).length).toBeLessThanOrEqual(64);
          expect(boundedKey(a) === boundedKey(b)).toBe(a === b);
        },
      ),
    );
    expect(boundedKey("x".repeat(3000))).not.toBe(boundedKey(`${"x".repeat(2999)}y`));
  });

  it("A key with half a surrogate pair is found again", () => {
    const map = new RecentMap<number>(10, 100);
    const key = `a key with more than twelve characters \ud800`;
    map.add(key, 1, 0);
    expect(map.get(key, 0)).toBe(1);
  });
});

it("A sliding window names the time at which a request of the same cost is allowed", () => {
  let now = 0;
  const windows = new SlidingWindows(windowMs, new RecentMap(1000, windowMs * 2), () => now);
  for (; now < 300; now += 100) expect(windows.take("a", 3).allowed).toBe(true);
  for (const [cost, retryMs] of [
    [1, 700],
    [2, 800],
    [3, 900],
  ] as const)
    expect(windows.take("a", 3, cost)).toMatchObject({ allowed: false, retryMs });
});

describe("the network of an address", () => {
  it.each([
    ["203.0.113.9", "203.0.113.9"],
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001:2::", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::1.2.3.4", "64:ff9b:0:0::/64"],
    ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4::/64"],
    ["not an address", "not an address"],
    ["", ""],
  ])("The network of %j is %j", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it.each([
    ["2001:db8:1:2345::1", 56, "2001:db8:1:2300::/56"],
    ["2001:db8:1:2345::1", 48, "2001:db8:1::/48"],
    ["2001:db8:1:2::1", 128, "2001:db8:1:2:0:0:0:1::/128"],
    ["203.0.113.9", 48, "203.0.113.9"],
  ])("The network of %j with a prefix of %d bits is %j", (address, prefix, network) => {
    expect(networkOf(address, prefix)).toBe(network);
  });
});
