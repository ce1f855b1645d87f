import { afterEach, describe, expect, it, vi } from "vitest";
import { Lease, type LeaseSource } from "../../src/durable/lease.js";
import { quiet } from "../patterns/events/stores.js";

/** A lease in memory: `taken` is the token that the database has. */
function sourceOf(): LeaseSource<{ token: number }> & { taken: number; released: number[]; renewals: number } {
  const source = {
    name: "a test",
    taken: 1,
    renewals: 0,
    released: [] as number[],
    claim: async () => ({ token: 1 }),
    renew: async (token: number) => {
      source.renewals++;
      return token === source.taken;
    },
    release: async (token: number) => void source.released.push(token),
  };
  return source;
}

describe("a lease", () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each(["performance", "Date"] as const)(
    "A lease is over when one of the two clocks says so (%s), and one that nobody has taken is held after a renewal",
    async (clock) => {
      const source = sourceOf();
      const lease = (await Lease.claim(source, 6000, quiet))!;
      expect(lease.held).toBe(true);
      // The other clock stands still: the machine sleeps, or the time was set.
      const now = clock === "Date" ? Date.now() : performance.now();
      vi.spyOn(clock === "Date" ? Date : performance, "now").mockImplementation(() => now + 3_600_000);
      expect(lease.held).toBe(false);
      expect(await lease.renew()).toBe(true);
      expect(lease.held).toBe(true);
      await lease.release();
      expect(source.released).toEqual([1]);
    },
  );

  it("A lease that another process has taken is lost, and is not released", async () => {
    const source = sourceOf();
    const lease = (await Lease.claim(source, 60_000, quiet))!;
    source.taken = 2;
    expect(await lease.renew()).toBe(false);
    expect([lease.held, lease.lost.aborted]).toEqual([false, true]);
    await lease.release();
    expect(source.released).toEqual([]);
  });

  it("The heartbeat notices that a lease is lost, and work that extends its lease has no other renewals", async () => {
    const source = sourceOf();
    const lease = (await Lease.claim(source, 60, quiet))!;
    source.taken = 2;
    await vi.waitFor(() => expect(lease.lost.aborted).toBe(true), { timeout: 20_000, interval: 5 });
    await lease.release();
    const busy = sourceOf();
    const extending = (await Lease.claim(busy, 60_000, quiet))!;
    extending.term.extend()();
    expect(busy.renewals).toBe(0);
    await extending.release();
  });
});
