import { describe, expect, it } from "vitest";
import { CrashLoop } from "../../../src/server/process/crash-loop.js";

describe("CrashLoop", () => {
  it("A worker that had served for a while is replaced at once, however often", () => {
    const loop = new CrashLoop();
    for (let now = 10_000; now < 20_000; now += 500) expect(loop.add(now - 5_000, now)).toBe(0);
  });

  it("The pause grows to half a minute while workers do not start", () => {
    const loop = new CrashLoop();
    const delays = Array.from({ length: 100 }, (_, now) => loop.add(null, now));
    expect(delays.slice(0, 4)).toEqual([0, 200, 400, 800]);
    expect(delays.at(-1)).toBe(30_000);
  });

  it("A worker that dies after its start is replaced within a second, since clients can cause its end", () => {
    const loop = new CrashLoop();
    const delays = Array.from({ length: 100 }, (_, now) => loop.add(now, now));
    expect(Math.max(...delays)).toBe(1_000);
  });

  it("Crashes are forgotten after a minute", () => {
    const loop = new CrashLoop();
    for (let i = 0; i < 4; i++) loop.add(null, i);
    expect(loop.add(null, 61_000)).toBe(0);
  });
});
