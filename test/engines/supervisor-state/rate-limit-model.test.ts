import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RateLimiter } from "../../../src/batteries/rate-limit/store.js";
import fc, { runs } from "../../support/properties.js";
import type { PairedWorker } from "./pair.js";
import { limiting, nextName, ways } from "./shared.js";

const hour = 3_600_000;
const workersOfRun = 3;
type Kind = "token_bucket" | "sliding_window";

/** Time stands still between two steps, so that a run is the same each time. */
const fake = { toFake: ["performance", "hrtime", "setTimeout", "clearTimeout"] } as const;

beforeEach(() => void vi.useFakeTimers({ toFake: [...fake.toFake] }));
afterEach(() => void vi.useRealTimers());

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets time pass in steps in which messages arrive. */
async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= 10) {
    await vi.advanceTimersByTimeAsync(Math.min(10, left));
    await turns(4);
  }
}

class Run {
  readonly workers: PairedWorker[];
  readonly limiters: RateLimiter[];
  readonly alive = new Set(Array.from({ length: workersOfRun }, (_, i) => i));
  /** The times at which requests were allowed. */
  readonly allowed: number[] = [];
  readonly #open: Promise<void>[] = [];
  sent = 0;
  /** The costs of the requests that were allowed. */
  spent = 0;
  limit: number;

  constructor(kind: Kind, windowMs: number, limit: number, way = "messages") {
    this.limit = limit;
    const { workers, stores } = limiting(way, workersOfRun);
    this.workers = workers;
    const policy = { name: nextName(), kind, windowMs, maxKeys: 1000 };
    this.limiters = stores.map((store) => store.limiter(policy));
  }

  async take(worker: number, count: number, cost = 1): Promise<void> {
    if (!this.alive.has(worker)) return;
    const note = ({ allowed }: { allowed: boolean }) => {
      if (!allowed) return;
      this.allowed.push(performance.now());
      this.spent += cost;
    };
    for (let i = 0; i < count; i++) {
      this.sent++;
      const verdict = this.limiters[worker]!.take("client", this.limit, cost);
      if (verdict instanceof Promise) this.#open.push(verdict.then(note));
      else note(verdict);
      if (i % 7 === 6) await turns(1);
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#open);
  }

  /** Kills a worker whose last report has arrived, unless it is the last one. */
  async kill(worker: number): Promise<void> {
    if (this.alive.size === 1 || !this.alive.has(worker)) return;
    await this.settled();
    await pass(20);
    this.alive.delete(worker);
    this.workers[worker]!.kill();
    await turns(4);
  }

  get survivor(): RateLimiter {
    return this.limiters[[...this.alive][0]!]!;
  }
}

const takes = fc.tuple(fc.constant("take" as const), fc.nat(workersOfRun - 1), fc.integer({ min: 1, max: 80 }));
const passes = fc.tuple(fc.constant("pass" as const), fc.integer({ min: 1, max: 220 }));
const waits = fc.tuple(fc.constant("turns" as const), fc.integer({ min: 1, max: 4 }));
const kills = fc.tuple(fc.constant("kill" as const), fc.nat(workersOfRun - 1));
const limits = fc.tuple(fc.constant("limit" as const), fc.integer({ min: 65, max: 3000 }));

const kinds = ways.flatMap((way) => [[way, "token_bucket"] as const, [way, "sliding_window"] as const]);

describe("a shared limit while time passes", () => {
  it.each(["token_bucket", "sliding_window"] as const)(
    "A shared limit is exact though loans expire and workers are killed: %s",
    async (kind) => {
      const steps = fc.array(
        fc.oneof(
          { weight: 6, arbitrary: takes },
          { weight: 3, arbitrary: passes },
          { weight: 4, arbitrary: waits },
          { weight: 1, arbitrary: kills },
        ),
        { minLength: 10, maxLength: 60 },
      );
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 20, max: 3000 }), steps, async (limit, list) => {
          const run = new Run(kind, 1000 * hour, limit);
          for (const step of list) {
            if (step[0] === "take") await run.take(step[1], step[2]);
            else if (step[0] === "pass") await pass(step[1]);
            else if (step[0] === "kill") await run.kill(step[1]);
            else await turns(step[1]);
          }
          await run.settled();
          expect(run.allowed.length).toBe(Math.min(limit, run.sent));
          // All loans are over, and what was not used of them is left.
          await pass(250);
          const { allowed, remaining } = await run.survivor.take("client", limit);
          expect(remaining + (allowed ? 1 : 0)).toBe(limit - run.allowed.length);
        }),
        { numRuns: runs(40) },
      );
    },
  );

  it.each(kinds)("A limit shared by %s is exact for requests of several costs: %s", async (way, kind) => {
    const step = fc.tuple(fc.nat(workersOfRun - 1), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 12 }));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 12, max: 2000 }),
        fc.array(step, { minLength: 5, maxLength: 30 }),
        async (limit, list) => {
          const run = new Run(kind, 1000 * hour, limit, way);
          let asked = 0;
          for (const [worker, count, cost] of list) {
            await run.take(worker, count, cost);
            asked += count * cost;
            await turns(cost % 3);
          }
          await run.settled();
          // One that costs much is refused while a few are left.
          expect(run.spent).toBeLessThanOrEqual(limit);
          expect(run.spent).toBeGreaterThan(Math.min(limit - 12, asked - 1));
          await pass(250);
          const { allowed, remaining } = await run.survivor.take("client", limit);
          expect(remaining + (allowed ? 1 : 0)).toBe(limit - run.spent);
        },
      ),
      { numRuns: runs(30) },
    );
  });

  it.each(ways)("A limit shared by %s loses no request when the limit of a client changes", async (way) => {
    const steps = fc.array(
      fc.oneof(
        { weight: 6, arbitrary: takes },
        { weight: 1, arbitrary: passes },
        { weight: 4, arbitrary: waits },
        { weight: 2, arbitrary: limits },
      ),
      { minLength: 10, maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const run = new Run("sliding_window", 1000 * hour, 3000, way);
        for (const step of list) {
          if (step[0] === "take") await run.take(step[1], step[2]);
          else if (step[0] === "pass") await pass(step[1]);
          else if (step[0] === "limit") run.limit = step[1];
          else await turns(step[1]);
        }
        await run.settled();
        await pass(250);
        const limit = 100_000;
        expect((await run.survivor.take("client", limit)).remaining).toBe(limit - 1 - run.allowed.length);
      }),
      { numRuns: runs(60) },
    );
  });

  it.each(kinds)("A limit shared by %s is never exceeded in any period while it refills: %s", async (way, kind) => {
    const steps = fc.array(fc.oneof(takes, passes), { minLength: 20, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 20, max: 600 }),
        fc.constantFrom(300, 1000, 5000),
        steps,
        async (limit, windowMs, list) => {
          const run = new Run(kind, windowMs, limit, way);
          for (const step of list) {
            if (step[0] === "take") await run.take(step[1], step[2]);
            else await pass(step[1]);
            await run.settled();
          }
          expect(excess(run.allowed, kind, windowMs, limit)).toBe(null);
        },
      ),
      { numRuns: runs(25) },
    );
  });
});

/** The first period in which more was allowed than the limit says, or null. */
function excess(times: readonly number[], kind: Kind, windowMs: number, limit: number): string | null {
  for (let from = 0; from < times.length; from++) {
    for (let to = from; to < times.length; to++) {
      const period = times[to]! - times[from]!;
      if (kind === "sliding_window" && period >= windowMs) break;
      const refilled = kind === "token_bucket" ? (period * limit) / windowMs + 0.01 : 0;
      if (to - from + 1 > limit + refilled) return `${to - from + 1} requests in ${period} ms`;
    }
  }
  return null;
}
