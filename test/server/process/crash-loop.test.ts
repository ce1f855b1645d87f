import { describe, expect, it } from "vitest";
import { CrashLoop } from "../../../src/server/crash-loop.js";

describe("CrashLoop", () => {
  it("A worker that had served for a while is replaced at once, however often", () => {
    const loop = new CrashLoop();
    for (let now = 10_000; now < 20_000; now += 500) expect(loop.add(now - 5_000, false, now)).toBe(0);
  });

  it("Each worker that dies soon after its start is replaced later, and the fifth ends the server", () => {
    const loop = new CrashLoop();
    const delays = [0, 1, 2, 3, 4].map((now) => loop.add(null, false, now));
    expect(delays).toEqual([0, 200, 400, 800, null]);
  });

  it("A server that has run is never given up, and the wait grows to half a minute while workers do not start", () => {
    const loop = new CrashLoop();
    const delays = Array.from({ length: 100 }, (_, now) => loop.add(null, true, now));
    expect(delays.slice(0, 4)).toEqual([0, 200, 400, 800]);
    expect(delays.at(-1)).toBe(30_000);
  });

  it("A worker that dies after its start is replaced within a second, since clients can cause its end", () => {
    const loop = new CrashLoop();
    const delays = Array.from({ length: 100 }, (_, now) => loop.add(now, true, now));
    expect(Math.max(...delays.map(Number))).toBe(1_000);
  });

  it("A worker that dies within two seconds of being ready counts as a crash", () => {
    const loop = new CrashLoop();
    for (let i = 0; i < 4; i++) loop.add(1_000, false, 2_900);
    expect(loop.add(1_000, false, 2_999)).toBeNull();
  });

  it("Crashes are forgotten after half a minute", () => {
    const loop = new CrashLoop();
    for (let i = 0; i < 4; i++) loop.add(null, false, i);
    expect(loop.add(null, false, 61_000)).toBe(0);
  });
});
