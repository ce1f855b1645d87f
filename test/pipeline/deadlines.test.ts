import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadlines } from "../../src/pipeline/deadlines.js";

describe("deadlines", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("Deadlines expire after their time, in order, and not before", () => {
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

  it("Deadlines that are removed do not expire, whatever their position", () => {
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

  it("Deadlines do not keep the process from ending", () => {
    const setting = vi.spyOn(globalThis, "setTimeout");
    const deadlines = new Deadlines(1000);
    deadlines.add(() => {});
    vi.advanceTimersByTime(500);
    const timers = setting.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(timers.length).toBeGreaterThan(1);
    expect(timers.map((timer) => timer.hasRef())).toEqual(timers.map(() => false));
  });

  it("No timer runs without a deadline", () => {
    const deadlines = new Deadlines(1000);
    deadlines.remove(deadlines.add(() => {}));
    vi.advanceTimersByTime(5000);
    expect(vi.getTimerCount()).toBe(0);
  });
});
