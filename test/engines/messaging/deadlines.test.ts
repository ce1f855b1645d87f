import { afterEach, expect, it, vi } from "vitest";
import { Deadlines, TimedCall } from "../../../src/engines/messaging/consume/deadlines.js";

class Call extends TimedCall {
  override readonly late: () => void;

  constructor(late: () => void) {
    super();
    this.late = late;
  }
}

/** Begins a call that may take as long as the others. */
function begin(deadlines: Deadlines, late: () => void = () => {}): Call {
  const call = new Call(late);
  deadlines.add(call, performance.now());
  return call;
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("Each call is late when its own time is up, in the order of their starts, with one timer at a time", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines(100);
  const late: string[] = [];
  begin(deadlines, () => late.push("first"));
  vi.advanceTimersByTime(60);
  begin(deadlines, () => late.push("second"));
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
  const first = begin(deadlines, () => late.push("first"));
  begin(deadlines, () => late.push("second"));
  deadlines.remove(first);
  vi.advanceTimersByTime(500);
  expect(late).toEqual(["second"]);
});

it("A call in the middle of others can end, and the others are late in their order", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines(100);
  const late: number[] = [];
  const calls = [0, 1, 2, 3].map((number) => begin(deadlines, () => late.push(number)));
  for (const number of [1, 3]) deadlines.remove(calls[number]!);
  // A call that has ended can end again without an effect.
  deadlines.remove(calls[1]!);
  calls.push(begin(deadlines, () => late.push(4)));
  vi.advanceTimersByTime(500);
  expect(late).toEqual([0, 2, 4]);
});

it("Calls without a limit of time have no timer", () => {
  vi.useFakeTimers();
  begin(new Deadlines(0));
  expect(vi.getTimerCount()).toBe(0);
});

it("The timer keeps the process alive only while a call is under way", () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const deadlines = new Deadlines(60_000);
  const first = begin(deadlines);
  const timer = timers.mock.results[0]!.value as NodeJS.Timeout;
  expect(timer.hasRef()).toBe(true);
  deadlines.remove(first);
  expect(timer.hasRef()).toBe(false);
  const second = begin(deadlines);
  expect(timer.hasRef()).toBe(true);
  deadlines.remove(second);
  expect(timers).toHaveBeenCalledTimes(1);
  clearTimeout(timer);
});

it("A late call that begins another one leaves one timer", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines(100);
  const again = (): Call => begin(deadlines, again);
  again();
  vi.advanceTimersByTime(50);
  again();
  for (let step = 0; step < 6; step++) {
    vi.advanceTimersByTime(50);
    expect(vi.getTimerCount()).toBe(1);
  }
});
