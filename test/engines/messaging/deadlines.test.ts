import { afterEach, expect, it, vi } from "vitest";
import { Deadlines } from "../../../src/engines/messaging/consume/deadlines.js";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("Each call is late when its own time is up, in the order of their starts, with one timer at a time", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines(100);
  const late: string[] = [];
  deadlines.add(() => late.push("first"));
  vi.advanceTimersByTime(60);
  deadlines.add(() => late.push("second"));
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(50);
  expect(late).toEqual(["first"]);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(50);
  expect(late).toEqual(["first", "second"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("A call that has ended is never late", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines(100);
  const late: string[] = [];
  const first = deadlines.add(() => late.push("first"));
  deadlines.add(() => late.push("second"));
  deadlines.remove(first);
  vi.advanceTimersByTime(500);
  expect(late).toEqual(["second"]);
});

it("The timer keeps the process alive only while a call is under way", () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const deadlines = new Deadlines(60_000);
  const first = deadlines.add(() => {});
  const timer = timers.mock.results[0]!.value as NodeJS.Timeout;
  expect(timer.hasRef()).toBe(true);
  deadlines.remove(first);
  expect(timer.hasRef()).toBe(false);
  const second = deadlines.add(() => {});
  expect(timer.hasRef()).toBe(true);
  deadlines.remove(second);
  expect(timers).toHaveBeenCalledTimes(1);
  clearTimeout(timer);
});
