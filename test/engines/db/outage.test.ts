import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { Outage } from "../../../src/engines/db/pool/outage.js";

describe("an outage", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("An attempt that fails is followed by one more, within a second", async () => {
    const retry = vi.fn();
    const outage = new Outage(retry);
    for (let attempts = 1; attempts <= 10; attempts++) {
      outage.failed(new Error("refused"));
      outage.failed(new Error("refused"));
      await vi.advanceTimersByTimeAsync(1000);
      expect(retry).toHaveBeenCalledTimes(attempts);
    }
  });

  it("An attempt that succeeds ends the outage, and no further one is made", async () => {
    const retry = vi.fn();
    const outage = new Outage(retry);
    outage.failed(new Error("refused"));
    expect(outage.lasts).toBe(true);
    outage.end();
    expect(outage.lasts).toBe(false);
    expect(outage.errorAfter(0)).toBeNull();
    await vi.advanceTimersByTimeAsync(5000);
    expect(retry).not.toHaveBeenCalled();
  });

  it("The error of calls is that of the last attempt, once the outage has lasted long enough", async () => {
    const outage = new Outage(() => {});
    outage.failed(new Error("first"));
    await vi.advanceTimersByTimeAsync(2000);
    outage.failed(new Error("second"));
    expect(outage.errorAfter(2001)).toBeNull();
    const error = outage.errorAfter(2000);
    expect(error).toBeInstanceOf(OperationalError);
    expect(error).toMatchObject({ message: "second", sqlstate: "08001", cause: new Error("second") });
  });
});
