import { vi } from "vitest";

/** A clock that stands still until it is moved: the monotonic one, and the one on the wall where it is asked for. */
export function stopClock(...also: ("Date" | "setTimeout" | "clearTimeout" | "setImmediate")[]): void {
  vi.useFakeTimers({ toFake: ["performance", ...also] });
}

export function pass(seconds: number): void {
  vi.advanceTimersByTime(seconds * 1000);
}
