import { describe, expect, it, vi } from "vitest";
import { RecentMap } from "../../../src/batteries/rate-limit/recent-map.js";
import { SlidingWindows } from "../../../src/batteries/rate-limit/sliding-windows.js";
import type { RateLimiter, RateVerdict } from "../../../src/batteries/rate-limit/store.js";
import { TokenBuckets } from "../../../src/batteries/rate-limit/token-buckets.js";
import { RateLimitService } from "../../../src/engines/supervisor-state/rate-limit-service.js";
import { SupervisedRateLimitStore } from "../../../src/engines/supervisor-state/rate-limit-store.js";
import { blockFor } from "../../support/block-for.js";
import fc, { runs } from "../../support/properties.js";
import { type PairedWorker, paired } from "./pair.js";
import { limiting, nextName, ways } from "./shared.js";

const hour = 3_600_000;
type Kind = "token_bucket" | "sliding_window";

interface Counting {
  readonly workers: PairedWorker[];
  readonly limiters: RateLimiter[];
}

function counting(count: number, kind: Kind = "token_bucket", windowMs = 100 * hour, way = "messages"): Counting {
  const { workers, stores } = limiting(way, count);
  const policy = { name: nextName(), kind, windowMs, maxKeys: 1000 };
  return { workers, limiters: stores.map((store) => store.limiter(policy)) };
}

/** Sends requests of one client to a worker, `width` at a time. Returns the number allowed. */
async function load(limiter: RateLimiter, requests: number, limit: number, width = 8): Promise<number> {
  let allowed = 0;
  let begun = 0;
  let sync = 0;
  const one = async (): Promise<void> => {
    while (begun++ < requests) {
      const verdict = limiter.take("client", limit);
      if (!(verdict instanceof Promise) && ++sync % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      if ((await verdict).allowed) allowed++;
    }
  };
  await Promise.all(Array.from({ length: width }, one));
  return allowed;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe("a limit that workers share", () => {
  it("A message with strange values is refused at once, and a large number of a limit costs nothing at the end", () => {
    const service = new RateLimitService();
    const worker = { ask: async () => undefined, tell: () => {} } as never;
    const policy = { name: "app", kind: "sliding_window", windowMs: hour, maxKeys: 10 } as const;
    const index = 4_294_967_294;
    service.hear(worker, ["policy", index, policy]);
    const strange = { valueOf: 1, toString: 1 } as never;
    expect(() => service.hear(worker, ["take", index, "client", strange, 1])).toThrow("cannot be read");
    expect(() => service.hear(worker, ["take", index, strange, 1, 1])).toThrow("cannot be read");
    expect(() => service.hear(worker, ["back", index, "client", strange])).toThrow("cannot be read");
    expect(service.hear(worker, ["take", index, "client", 1, 0])).toEqual([1, 0, expect.closeTo(hour), 0, 0, 0]);
    service.leave(worker);
  });

  it.each(ways.flatMap((way) => [[way, "token_bucket"] as const, [way, "sliding_window"] as const]))(
    "A limit that workers share by %s is exact with any mix of load: %s",
    async (way, kind) => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 700 }),
          fc.array(fc.record({ requests: fc.integer({ min: 0, max: 900 }), width: fc.integer({ min: 1, max: 32 }) }), {
            minLength: 2,
            maxLength: 4,
          }),
          async (limit, loads) => {
            const { limiters } = counting(loads.length, kind, 100 * hour, way);
            const all = loads.map(({ requests, width }, i) => load(limiters[i]!, requests, limit, width));
            const first = sum(await Promise.all(all));
            expect(first).toBe(Math.min(limit, sum(loads.map(({ requests }) => requests))));
            // What is left can be had from any of them: nothing lies idle elsewhere.
            const rest = await load(limiters[0]!, limit + 10, limit);
            expect(first + rest).toBe(limit);
          },
        ),
        { numRuns: runs(25) },
      );
    },
  );

  it("A worker with a busy client borrows from the limit, and then allows requests without a promise", async () => {
    const { limiters } = counting(2);
    let verdict: RateVerdict | Promise<RateVerdict> = Promise.resolve() as never;
    let borrowed = 0;
    for (let i = 0; i < 100; i++) {
      verdict = limiters[0]!.take("client", 1000);
      if (!(verdict instanceof Promise)) borrowed++;
      await verdict;
    }
    expect(borrowed).toBeGreaterThan(50);
    expect((await limiters[1]!.take("client", 1000)).allowed).toBe(true);
  });

  it("A loan is followed by the next one before it is used up, so that no request of a busy client waits", async () => {
    const { limiters } = counting(2, "token_bucket", 1_000_000 * hour);
    const limit = 1_000_000;
    await load(limiters[0]!, 1000, limit);
    let waited = 0;
    for (let i = 0; i < 5000; i++) {
      const verdict = limiters[0]!.take("client", limit);
      if (verdict instanceof Promise) waited++;
      expect((await verdict).remaining).toBe(limit - 1001 - i);
      if (i % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // A machine that stops for longer than a loan lasts lets some wait.
    expect(waited).toBeLessThan(50);
    expect((await limiters[1]!.take("client", limit)).remaining).toBeLessThanOrEqual(limit - 6001);
  });

  it("A worker that was blocked for longer than its loans last uses none of them", async () => {
    const { limiters } = counting(2);
    const limit = 10_000;
    let next = limiters[0]!.take("client", limit);
    // A loan of which half is used has the next one behind it.
    for (let sync = 0; sync < 30; next = limiters[0]!.take("client", limit)) {
      if (!(next instanceof Promise)) sync++;
      await next;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await next;
    blockFor(110);
    expect(limiters[0]!.take("client", limit)).toBeInstanceOf(Promise);
  });

  it("A limit loses nothing with a worker that is killed while it has borrowed", async () => {
    const { workers, limiters } = counting(2);
    const before = await load(limiters[0]!, 100, 400);
    // The supervisor knows what was used when the last report has arrived: a timer that was set later has run.
    await new Promise((resolve) => setTimeout(resolve, 10));
    await workers[0]!.link.settled();
    workers[0]!.kill();
    expect(before + (await load(limiters[1]!, 500, 400))).toBe(400);
  });

  it("A worker refuses a request on its own while the client is known to be over the limit", async () => {
    const { limiters } = counting(2);
    for (let i = 0; i < 5; i++) await limiters[0]!.take("client", 5);
    expect((await limiters[1]!.take("client", 5)).allowed).toBe(false);
    const again = limiters[1]!.take("client", 5);
    expect(again).toMatchObject({ allowed: false, remaining: 0 });
  });

  it("A small limit counts down in the responses as in one process", async () => {
    const { limiters } = counting(2);
    const remaining = [];
    for (let i = 0; i < 5; i++) remaining.push((await limiters[i % 2]!.take("client", 5)).remaining);
    expect(remaining).toEqual([4, 3, 2, 1, 0]);
  });

  it("A request fails at once while the supervisor does not reply", async () => {
    const workers = paired({ "rate limit": { hear: () => new Promise(() => {}) } }, 1, 20);
    const policy = { name: "app", kind: "token_bucket", windowMs: hour, maxKeys: 10 } as const;
    const limiter = new SupervisedRateLimitStore(workers[0]!.link).limiter(policy);
    await expect(limiter.take("client", 5)).rejects.toThrow("has not replied in time");
    expect(() => limiter.take("client", 5)).toThrow("the supervisor does not reply");
  });
});

describe("a loan", () => {
  it("A loan of a bucket cannot be had twice, though the bucket is full again before it is returned", () => {
    let now = 0;
    const buckets = new TokenBuckets(1000, new RecentMap(10, 1e9), () => now);
    expect(buckets.take("a", 100).allowed).toBe(true);
    const loan = buckets.lend("a", 100, 20)!;
    expect(loan.tokens).toBe(20);
    now += 5000;
    let allowed = 0;
    while (buckets.take("a", 100).allowed) allowed++;
    expect(allowed).toBe(80);
    now += 5000;
    expect(buckets.look("a", 100)).toEqual({ remaining: 80, resetMs: 200 });
    allowed = 80;
    now -= 5000;
    buckets.settle("a", loan, 20);
    while (buckets.take("a", 100).allowed) allowed++;
    expect(allowed).toBe(100);
  });

  it("A loan of a window holds to the end of its part, and the unused rest is allowed again", () => {
    let now = 10;
    const windows = new SlidingWindows(6400, new RecentMap(10, 1e9), () => now);
    expect(windows.take("a", 100).allowed).toBe(true);
    const loan = windows.lend("a", 100, 50)!;
    expect(loan).toMatchObject({ tokens: 50, life: 90 });
    let allowed = 1;
    while (windows.take("a", 100).allowed) allowed++;
    expect(allowed).toBe(50);
    windows.settle("a", loan, 30);
    while (windows.take("a", 100).allowed) allowed++;
    expect(allowed).toBe(80);
    now += 6500;
    expect(windows.take("a", 100).remaining).toBe(99);
    expect(windows.lend("a", 10, 5)).toBeNull();
  });
});

describe("the supervisor's memory of loans", () => {
  it("A loan counts as used if its worker lives, but messages to it were lost", () => {
    const service = new RateLimitService();
    const worker = { tell: () => {}, ask: async () => undefined };
    const policy = { name: "a", kind: "token_bucket", windowMs: 100 * hour, maxKeys: 10 } as const;
    service.hear(worker, ["policy", 0, policy]);
    expect(service.hear(worker, ["take", 0, "client", 100, 8])).toMatchObject({ 4: 8 });
    expect(service.hear(worker, ["renew", 0, "client", 100, 16])).toMatchObject({ 4: 16 });
    service.lost(worker);
    service.hear(worker, ["policy", 0, policy]);
    expect(service.hear(worker, ["take", 0, "client", 100, 0])).toMatchObject({ 1: 100 - 1 - 8 - 16 - 1 });
  });

  it("The supervisor forgets a loan when its time is over", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let now = 0;
      const service = new RateLimitService(null, () => now);
      const worker = { tell: () => {}, ask: async () => undefined };
      service.hear(worker, ["policy", 0, { name: "a", kind: "token_bucket", windowMs: 100 * hour, maxKeys: 10 }]);
      expect(service.hear(worker, ["take", 0, "client", 100, 8])).toMatchObject({ 4: 8 });
      now += 5000;
      await vi.advanceTimersByTimeAsync(5000);
      // It was never returned, so it counts as used; the next loan is given.
      expect(service.hear(worker, ["take", 0, "client", 100, 8])).toMatchObject({ 1: 82, 4: 8 });
    } finally {
      vi.useRealTimers();
    }
  });
});
