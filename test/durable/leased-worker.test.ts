import { describe, expect, it, vi } from "vitest";
import { attempt, attempted, WorkTimeout } from "../../src/durable/attempt.js";
import { Flag } from "../../src/durable/flag.js";
import { Gate } from "../../src/durable/gate.js";
import { type Leased, LeasedWorker, type WorkSource } from "../../src/durable/leased-worker.js";
import { quiet, recorder } from "../patterns/events/stores.js";

const patient = { timeout: 20_000, interval: 5 };

/** A source of numbered items; `run` does the work. */
function numbered(count: number, run: WorkSource<Leased>["run"]) {
  const claims: number[] = [];
  let next = 0;
  const source: WorkSource<Leased> = {
    claim: async (limit) => {
      const items = Array.from({ length: Math.min(limit, count - next) }, () => ({ id: String(next++), token: 1 }));
      claims.push(items.length);
      return items;
    },
    renew: async (items) => new Map(items.map(({ id }) => [id, "held"])),
    nextDue: async () => null,
    run,
  };
  return { source, claims };
}

const settings = { name: "items", concurrency: 50, leaseMs: 60_000, pollMs: 60_000, gate: new Gate() };

describe("a worker with leases", () => {
  it("Work that ends piece by piece is claimed together, and each item runs once", async () => {
    const total = 1000;
    const ran: string[] = [];
    const ends: (() => void)[] = [];
    // One item ends in each turn of the event loop.
    const turn = (): void => {
      ends.shift()?.();
      if (ran.length < total || ends.length > 0) setImmediate(turn);
    };
    const { source, claims } = numbered(total, ({ id }, _signals, end) => {
      ran.push(id);
      ends.push(() => end(false));
    });
    const worker = new LeasedWorker(settings, source, quiet);
    turn();
    await vi.waitFor(() => expect([ran.length, ends.length]).toEqual([total, 0]), patient);
    await worker.drain(10_000);
    expect(new Set(ran).size).toBe(total);
    expect(claims.filter((size) => size > 0).length).toBeLessThan(total / 2);
  });

  it("Work whose lease ended while it was being claimed begins only if no other worker has it", async () => {
    const ran: string[] = [];
    const { source, claims } = numbered(2, ({ id }, _signals, end) => {
      ran.push(id);
      end(false);
    });
    const slow: WorkSource<Leased> = {
      ...source,
      claim: async (limit, inProgress) => {
        const items = await source.claim(limit, inProgress);
        await new Promise((resolve) => setTimeout(resolve, 50));
        return items;
      },
      renew: async () => new Map([["1", "held"]]),
    };
    const worker = new LeasedWorker({ ...settings, leaseMs: 20 }, slow, quiet);
    await vi.waitFor(() => expect(claims.length).toBeGreaterThan(1), patient);
    await worker.drain(10_000);
    expect(ran).toEqual(["1"]);
  });

  it("Work that may be due again is looked for at once, although nothing else was due", async () => {
    let runs = 0;
    const source: WorkSource<Leased> = {
      claim: async () => (runs < 3 ? [{ id: "1", token: runs }] : []),
      renew: async (items) => new Map(items.map(({ id }) => [id, "held"])),
      nextDue: async () => null,
      run: (_item, _signals, end) => {
        runs++;
        setImmediate(() => end(true));
      },
    };
    const worker = new LeasedWorker(settings, source, quiet);
    await vi.waitFor(() => expect(runs).toBe(3), patient);
    await worker.drain(10_000);
  });

  it("Work that comes while a claim is under way is looked for after it", async () => {
    const claims: ((items: readonly Leased[]) => void)[] = [];
    const source: WorkSource<Leased> = {
      claim: () => new Promise((resolve) => claims.push(resolve)),
      renew: async () => new Map(),
      nextDue: async () => null,
      run: (_item, _signals, end) => end(false),
    };
    const worker = new LeasedWorker(settings, source, quiet);
    worker.wake();
    // The statement of this claim may have read before the work was there.
    claims[0]!([]);
    await vi.waitFor(() => expect(claims).toHaveLength(2), patient);
    const drained = worker.drain(10_000);
    claims[1]!([]);
    await drained;
    expect(claims).toHaveLength(2);
  });

  it("Work that is due and locked by others is looked for less and less often", async () => {
    const claims: number[] = [];
    const source: WorkSource<Leased> = {
      claim: async () => {
        claims.push(performance.now());
        return [];
      },
      renew: async () => new Map(),
      nextDue: async () => -5,
      run: () => {},
    };
    const worker = new LeasedWorker(settings, source, quiet);
    await vi.waitFor(() => expect(claims.length).toBeGreaterThan(8), patient);
    await worker.drain(10_000);
    // Pauses of 1, 2, 4 and more milliseconds: together 255. A timer may be a little early.
    expect(claims[8]! - claims[0]!).toBeGreaterThan(240);
  });

  it("While claims find work the next due item is looked for seldom, and after an empty claim at once", async () => {
    // The clock stands still: no time passes between two looks.
    const clock = vi.spyOn(performance, "now").mockReturnValue(1000);
    const calls: string[] = [];
    let left = 8;
    const source: WorkSource<Leased> = {
      claim: async () => {
        calls.push("claim");
        return left-- > 0 ? [{ id: String(left), token: 1 }] : [];
      },
      renew: async () => new Map(),
      nextDue: async () => {
        calls.push("look");
        return null;
      },
      run: (_item, _signals, end) => setTimeout(() => end(true), 1),
    };
    const worker = new LeasedWorker(settings, source, quiet);
    await vi.waitFor(() => expect(calls.filter((call) => call === "look")).toHaveLength(2), patient);
    clock.mockRestore();
    await worker.drain(10_000);
    expect(calls).toEqual(["claim", "look", ...Array.from({ length: 8 }, () => "claim"), "look"]);
  });

  it("A process whose leases are over after a block renews them before it claims more, and claims no item that it has", async () => {
    const calls: string[] = [];
    let last: (() => void) | null = null as (() => void) | null;
    const source: WorkSource<Leased> = {
      claim: async (_limit, inProgress) => {
        calls.push(`claim except ${inProgress.join()}`);
        return calls.length === 1 ? [{ id: "1", token: 1 }] : [];
      },
      renew: async (items) => {
        calls.push("renew");
        return new Map(items.map(({ id }) => [id, "held"]));
      },
      nextDue: async () => null,
      run: (_item, _signals, end) => (last = () => end(false)),
    };
    const worker = new LeasedWorker(settings, source, quiet);
    await vi.waitFor(() => expect(last).not.toBeNull(), patient);
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now + 2 * settings.leaseMs);
    worker.wake();
    await vi.waitFor(() => expect(calls.length).toBeGreaterThan(2), patient);
    clock.mockRestore();
    expect(calls.slice(0, 3)).toEqual(["claim except ", "renew", "claim except 1"]);
    last!();
    await worker.drain(10_000);
  });

  it("Work that fails or throws is logged and makes room for more, and a drain waits for the work in progress", async () => {
    const { logger, lines } = recorder();
    let last: (() => void) | null = null as (() => void) | null;
    const { source } = numbered(4, ({ id }, _signals, end) => {
      if (id === "0") throw new Error("at once");
      if (id === "1") end(false, new Error("later"));
      else if (id === "2") end(false);
      else last = () => end(false);
    });
    const worker = new LeasedWorker({ ...settings, concurrency: 1 }, source, logger);
    await vi.waitFor(() => expect(last).not.toBeNull(), patient);
    expect(lines).toEqual(["items: an item failed", "items: an item failed"]);
    let drained = false;
    const draining = worker.drain(60_000).then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    last!();
    await draining;
    expect(drained).toBe(true);
  });
});

describe("an attempt", () => {
  it("The first of result, failure, time and signals is the outcome, and later ones are discarded", async () => {
    const open = (): { lost: Flag; cancelled: Flag } => ({ lost: new Flag(), cancelled: new Flag() });
    expect(await attempted(() => 7, Infinity, open())).toEqual({ kind: "done", result: 7 });
    expect(await attempted(async () => 8, 60_000, open())).toEqual({ kind: "done", result: 8 });
    const thrown = () => {
      throw new Error("no");
    };
    expect(await attempted(thrown, Infinity, open())).toMatchObject({ kind: "failed", error: { message: "no" } });
    expect(await attempted(() => Promise.reject(7), Infinity, open())).toEqual({ kind: "failed", error: 7 });
    const late = await attempted(() => new Promise(() => {}), 1, open());
    expect(late).toMatchObject({ kind: "unknown", error: expect.any(WorkTimeout) });

    for (const [name, kind] of [
      ["lost", "lost"],
      ["cancelled", "unknown"],
    ] as const) {
      const signals = open();
      const outcomes: unknown[] = [];
      let resolve = (_value: unknown): void => {};
      let aborted = false;
      const run = (current: { readonly signal: AbortSignal }): Promise<unknown> => {
        current.signal.addEventListener("abort", () => (aborted = true));
        return new Promise((settle) => (resolve = settle));
      };
      attempt(run, Infinity, signals, (outcome) => outcomes.push(outcome.kind));
      signals[name].abort();
      signals[name].abort();
      resolve("late");
      await new Promise((done) => setImmediate(done));
      expect([outcomes, aborted]).toEqual([[kind], true]);
      const never = vi.fn();
      expect(await attempted(never, Infinity, signals)).toMatchObject({ kind });
      expect(never).not.toHaveBeenCalled();
    }
  });
});
