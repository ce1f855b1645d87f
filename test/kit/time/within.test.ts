import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { backoff } from "../../../src/kit/time/backoff.js";
import { sleep, within } from "../../../src/kit/time/within.js";

const never = new Promise<never>(() => {});

describe("waiting for a promise within a time", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it("A promise that ends in time gives its value or its error, and leaves no timer", async () => {
    const late = vi.fn();
    expect(await within(Promise.resolve(1), 100, late)).toBe(1);
    await expect(within(Promise.reject(new Error("refused")), 100, late)).rejects.toThrow("refused");
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1000);
    expect(late).not.toHaveBeenCalled();
  });

  it("A promise that takes too long gives the value or the error of the function for it", async () => {
    const value = within(never, 100, () => "late");
    const error = expect(
      within(never, 100, () => {
        throw new Error("too late");
      }),
    ).rejects.toThrow("too late");
    const nothing = within(never, 100);
    await vi.advanceTimersByTimeAsync(100);
    expect(await value).toBe("late");
    expect(await nothing).toBeUndefined();
    await error;
  });

  it("A signal ends the wait with its reason, and no listener is left on it", async () => {
    const stop = new AbortController();
    const removed = vi.spyOn(stop.signal, "removeEventListener");
    await within(Promise.resolve(), 100, () => {}, stop.signal);
    expect(removed).toHaveBeenCalledTimes(1);
    const wait = expect(within(never, 100, () => {}, stop.signal)).rejects.toThrow("enough");
    stop.abort(new Error("enough"));
    await wait;
    await expect(within(never, 100, () => {}, stop.signal)).rejects.toThrow("enough");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("A sleep longer than the longest timer does not end at once", async () => {
    const woken = vi.fn();
    const stop = new AbortController();
    void sleep(1e12, stop.signal).then(woken);
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(woken).not.toHaveBeenCalled();
    stop.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(woken).toHaveBeenCalledOnce();
  });

  it("The pause before an attempt doubles up to a limit, and the random part is taken off", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    expect([0, 1, 2, 3, 4, 1e9].map((attempt) => backoff(attempt, 100, 1000))).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ]);
    expect(backoff(1e9, 0, 1000)).toBe(0);
    expect(backoff(2, 10, 1000, 3, 0)).toBe(90);
    random.mockReturnValue(1);
    expect(backoff(0, 100, 1000)).toBe(50);
    expect(backoff(0, 100, 1000, 2, 0.2)).toBe(80);
  });
});
