import { describe, expect, it } from "vitest";
import { CrashLoop } from "../../../src/server/crash-loop.js";

describe("CrashLoop", () => {
  it("A worker that had served for a while is replaced at once, however often", () => {
    const loop = new CrashLoop();
    for (let now = 10_000; now < 20_000; now += 500) expect(loop.add(now - 5_000, now)).toBe(0);
  });

  it("Each worker that dies soon after its start is replaced later, and the fifth ends the server", () => {
    const loop = new CrashLoop();
    const delays = [0, 1, 2, 3, 4].map((now) => loop.add(null, now));
    expect(delays).toEqual([0, 200, 400, 800, null]);
  });

  it("A worker that dies within two seconds of being ready counts as a crash", () => {
    const loop = new CrashLoop();
    for (let i = 0; i < 4; i++) loop.add(1_000, 2_900);
    expect(loop.add(1_000, 2_999)).toBeNull();
  });

  it("Crashes are forgotten after half a minute", () => {
    const loop = new CrashLoop();
    for (let i = 0; i < 4; i++) loop.add(null, i);
    expect(loop.add(null, 31_000)).toBe(0);
  });
});
