import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Pulse } from "../../../src/batteries/live/pulse.js";

describe("the pulse", () => {
  let pulse: Pulse;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
    pulse = new Pulse();
    pulse.start();
  });
  afterEach(() => {
    pulse.stop();
    vi.useRealTimers();
  });

  it("The pulse reports requests, failures and response times of each second", () => {
    for (let ms = 1; ms <= 100; ms++) pulse.add(ms > 98 ? 500 : 200, ms);
    vi.advanceTimersByTime(1000);
    expect(pulse.beats.at(-1)).toMatchObject({ requests: 100, errors: 2, p50: 51, p95: 96, p99: 100 });
    vi.advanceTimersByTime(1000);
    expect(pulse.beats.at(-1)).toMatchObject({ requests: 0, errors: 0, p50: null, p95: null, p99: null });
  });

  it("The pulse counts very many requests, and keeps only some of their times", () => {
    for (let i = 0; i < 50_000; i++) pulse.add(200, 7);
    vi.advanceTimersByTime(1000);
    expect(pulse.beats.at(-1)).toMatchObject({ requests: 50_000, p50: 7, p99: 7 });
  });

  it("The pulse remembers two minutes", () => {
    vi.advanceTimersByTime(300_000);
    expect([pulse.beats.length, pulse.count]).toEqual([120, 300]);
  });

  it("The pulse notices a late event loop", () => {
    const now = performance.now();
    // The clock stands still afterwards, so nothing else is late.
    const clock = vi.spyOn(performance, "now").mockReturnValue(now + 250);
    onTestFinished(() => clock.mockRestore());
    vi.advanceTimersByTime(1000);
    expect(pulse.beats.at(-1)!.lag).toBeGreaterThan(150);
    vi.advanceTimersByTime(1000);
    expect(pulse.beats.at(-1)!.lag).toBe(0);
  });
});
