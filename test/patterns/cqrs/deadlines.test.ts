import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadlines, type Expiring } from "../../../src/patterns/cqrs/deadlines.js";

describe("the deadlines of commands", () => {
  const expired: string[] = [];
  const work = (name: string): Expiring => ({ expire: () => void expired.push(name) });
  beforeEach(() => {
    expired.splice(0);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => void vi.useRealTimers());

  it("Work expires in its order, never before its time and at most a tick after it", () => {
    const deadlines = new Deadlines();
    deadlines.add(work("a"), 320);
    vi.advanceTimersByTime(105);
    deadlines.add(work("b"), 320);
    deadlines.add(work("short"), 32);
    vi.advanceTimersByTime(31);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(3);
    expect(expired).toEqual(["short"]);
    vi.advanceTimersByTime(320 - 139 - 1);
    expect(expired).toEqual(["short"]);
    vi.advanceTimersByTime(12);
    expect(expired).toEqual(["short", "a"]);
    vi.advanceTimersByTime(424 - 331);
    expect(expired).toEqual(["short", "a"]);
    vi.advanceTimersByTime(20);
    expect(expired).toEqual(["short", "a", "b"]);
  });

  it.each([100, 1000, 30_000, 45_000, 120_000])(
    "Work with a time of %d ms is late by a thirty-second of it and by a second at most",
    (milliseconds) => {
      const deadlines = new Deadlines();
      const late: number[] = [];
      // Some of them begin just after a tick, others just before.
      for (let begun = 0; begun < 50; begun++) {
        const due = performance.now() + milliseconds;
        deadlines.add({ expire: () => void late.push(performance.now() - due) }, milliseconds);
        vi.advanceTimersByTime(Math.ceil(milliseconds / 97));
      }
      vi.advanceTimersByTime(milliseconds * 2);
      expect(late).toHaveLength(50);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...late)).toBeLessThanOrEqual(Math.min(milliseconds / 32, 1000));
    },
  );

  it("Work that is removed does not expire, a second removal does nothing, and no timer is left", () => {
    const deadlines = new Deadlines();
    const all = ["a", "b", "c"].map((name) => deadlines.add(work(name), 64));
    deadlines.remove(all[1]!);
    deadlines.remove(all[1]!);
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["a", "c"]);
    expect(vi.getTimerCount()).toBe(0);
    // The line begins anew.
    deadlines.add(work("b"), 64);
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["a", "c", "b"]);
  });

  it("Work that begins after the process was blocked has its whole time", () => {
    const deadlines = new Deadlines();
    deadlines.add(work("a"), 320);
    vi.advanceTimersByTime(15);
    // The clock moves, and no timer runs.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 5000);
    deadlines.add(work("b"), 320);
    vi.advanceTimersByTime(10);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(300);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(40);
    expect(expired).toEqual(["a", "b"]);
    vi.restoreAllMocks();
  });
});
