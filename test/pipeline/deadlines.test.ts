import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadlines } from "../../src/pipeline/deadlines.js";

describe("deadlines", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("expire after their time, in order, and not before", () => {
    const deadlines = new Deadlines(1000);
    const expired: string[] = [];
    deadlines.add(() => expired.push("a"));
    vi.advanceTimersByTime(400);
    deadlines.add(() => expired.push("b"));
    vi.advanceTimersByTime(500);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(250);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(500);
    expect(expired).toEqual(["a", "b"]);
  });

  it("that are removed do not expire, wherever they stand", () => {
    const deadlines = new Deadlines(1000);
    const expired: number[] = [];
    const entries = [0, 1, 2, 3].map((i) => deadlines.add(() => expired.push(i)));
    deadlines.remove(entries[1]!);
    deadlines.remove(entries[3]!);
    deadlines.remove(entries[3]!);
    deadlines.remove(entries[0]!);
    vi.advanceTimersByTime(3000);
    expect(expired).toEqual([2]);
    const later = deadlines.add(() => expired.push(9));
    deadlines.remove(later);
    vi.advanceTimersByTime(3000);
    expect(expired).toEqual([2]);
  });

  it("that are far off do not keep a process from ending", () => {
    const setting = vi.spyOn(globalThis, "setTimeout");
    const deadlines = new Deadlines(1000);
    deadlines.add(() => {});
    vi.advanceTimersByTime(500);
    const timers = setting.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(timers.length).toBeGreaterThan(1);
    expect(timers.map((timer) => timer.hasRef())).toEqual(timers.map(() => false));
  });

  it("leave no timer running when there is nothing to wait for", () => {
    const deadlines = new Deadlines(1000);
    deadlines.remove(deadlines.add(() => {}));
    vi.advanceTimersByTime(5000);
    expect(vi.getTimerCount()).toBe(0);
  });
});
