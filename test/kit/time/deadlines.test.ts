import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadlines, Expiry } from "../../../src/kit/time/deadlines.js";

describe("deadlines", () => {
  const expired: string[] = [];
  const begin = (deadlines: Deadlines, name: string): Expiry => {
    const work = new Expiry(() => void expired.push(name));
    deadlines.add(work);
    return work;
  };
  beforeEach(() => {
    expired.splice(0);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it("Work expires in its order, never before its time and at most two ticks after it, with one timer", () => {
    const deadlines = new Deadlines(320);
    begin(deadlines, "a");
    vi.advanceTimersByTime(105);
    begin(deadlines, "b");
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(320 - 105 - 1);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(12);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(424 - 331);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(20);
    expect(expired).toEqual(["a", "b"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([100, 1000, 30_000, 45_000, 120_000])(
    "Work with a time of %d ms is late by a thirty-second of it and by a second at most",
    (milliseconds) => {
      const deadlines = new Deadlines(milliseconds);
      const late: number[] = [];
      // Some of them begin just after a tick, others just before.
      for (let begun = 0; begun < 50; begun++) {
        const due = performance.now() + milliseconds;
        deadlines.add(new Expiry(() => void late.push(performance.now() - due)));
        vi.advanceTimersByTime(Math.ceil(milliseconds / 97));
      }
      vi.advanceTimersByTime(milliseconds * 2);
      expect(late).toHaveLength(50);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...late)).toBeLessThanOrEqual(Math.min(milliseconds / 32, 1000));
    },
  );

  it("Work that is removed does not expire, a second removal does nothing, and no timer is left", () => {
    const deadlines = new Deadlines(64);
    const all = ["a", "b", "c", "d"].map((name) => begin(deadlines, name));
    for (const index of [1, 1, 3]) deadlines.remove(all[index]!);
    begin(deadlines, "e");
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["a", "c", "e"]);
    expect(vi.getTimerCount()).toBe(0);
    deadlines.add(all[1]!);
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["a", "c", "e", "b"]);
  });

  it("Work that begins after the process was blocked has its whole time", () => {
    const deadlines = new Deadlines(320);
    begin(deadlines, "a");
    vi.advanceTimersByTime(15);
    // The clock moves, and no timer runs.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 5000);
    begin(deadlines, "b");
    vi.advanceTimersByTime(10);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(300);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(40);
    expect(expired).toEqual(["a", "b"]);
  });

  it("Late work that begins other work leaves one timer", () => {
    const deadlines = new Deadlines(100);
    const again = (): void => deadlines.add(new Expiry(again));
    again();
    vi.advanceTimersByTime(50);
    again();
    for (let step = 0; step < 6; step++) {
      vi.advanceTimersByTime(50);
      expect(vi.getTimerCount()).toBe(1);
    }
  });

  it("Work without a limit of time has no timer", () => {
    const deadlines = new Deadlines(0);
    deadlines.remove(begin(deadlines, "a"));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("Deadlines do not keep the process from ending", () => {
    const setting = vi.spyOn(globalThis, "setTimeout");
    begin(new Deadlines(1000), "a");
    vi.advanceTimersByTime(500);
    const timers = setting.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(timers.length).toBeGreaterThan(1);
    expect(timers.map((timer) => timer.hasRef())).toEqual(timers.map(() => false));
  });

  it("Deadlines that keep the process alive do so only while work is under way", () => {
    vi.useRealTimers();
    const timers = vi.spyOn(globalThis, "setTimeout");
    const deadlines = new Deadlines(60_000, { keepsAlive: true });
    const first = begin(deadlines, "a");
    const timer = timers.mock.results[0]!.value as NodeJS.Timeout;
    expect(timer.hasRef()).toBe(true);
    deadlines.remove(first);
    expect(timer.hasRef()).toBe(false);
    const second = begin(deadlines, "b");
    expect(timer.hasRef()).toBe(true);
    deadlines.remove(second);
    expect(timer.hasRef()).toBe(false);
    expect(timers).toHaveBeenCalledTimes(1);
    clearTimeout(timer);
  });
});
