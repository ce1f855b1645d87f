import { KvStoreError } from "stoa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type LockScripts, withLock } from "../../../src/engines/kvstore/lock.js";
import { service } from "../../support/service.js";
import { testStore, until } from "./store.js";

describe.skipIf(!service("redis"))("locks of the key-value store", () => {
  it("A lock runs one function at a time, with growing tokens, and returns its result", async () => {
    const kv = await testStore();
    let inside = 0;
    let most = 0;
    const tokens: number[] = [];
    const work = (i: number): Promise<number> =>
      kv.lock("job", { ttl: 20, wait: 60 }, async ({ token, signal }) => {
        most = Math.max(most, ++inside);
        tokens.push(token);
        await new Promise((resolve) => setImmediate(resolve));
        expect(signal.aborted).toBe(false);
        inside--;
        return i;
      });
    const results = await Promise.all([0, 1, 2, 3, 4].map(work));
    expect(results).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(1);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(5);
  });

  it("A lock that is held elsewhere rejects with LOCKED, and is released after an error", async () => {
    const kv = await testStore();
    await kv.lock("job", async () => {
      await expect(kv.lock("job", () => 1)).rejects.toMatchObject({ code: "LOCKED" });
      await expect(kv.lock("job", { wait: 0.05 }, () => 1)).rejects.toBeInstanceOf(KvStoreError);
    });
    const failing = kv.lock("job", () => {
      throw new Error("broken");
    });
    await expect(failing).rejects.toThrow("broken");
    expect(await kv.lock("job", () => "free")).toBe("free");
  });

  it("A lock is renewed while its function runs", async () => {
    const kv = await testStore();
    await kv.lock("job", { ttl: 0.3 }, async ({ signal }) => {
      const start = performance.now();
      await until(() => performance.now() - start > 900);
      expect(signal.aborted).toBe(false);
      expect(await kv.has("lock:{job}")).toBe(true);
    });
    expect(await kv.has("lock:{job}")).toBe(false);
  });

  it("The signal is aborted if the lock is lost, and the lock of another holder is not released", async () => {
    const kv = await testStore();
    await kv.lock("job", { ttl: 0.3 }, async ({ signal }) => {
      await kv.set("lock:{job}", "somebody else");
      await until(() => signal.aborted);
      expect(signal.reason).toMatchObject({ code: "LOCK_LOST" });
    });
    expect(await kv.get("lock:{job}")).toBe("somebody else");
  });

  it("The signal of a lock ends its wait, and reaches its function", async () => {
    const kv = await testStore();
    const controller = new AbortController();
    await kv.lock("job", { signal: controller.signal }, async ({ signal }) => {
      const waiting = kv.lock("job", { wait: 60, signal: controller.signal }, () => 1);
      waiting.catch(() => undefined);
      controller.abort();
      await expect(waiting).rejects.toThrow();
      expect(signal.aborted).toBe(true);
    });
  });

  it("A lock refuses invalid options", async () => {
    const kv = await testStore();
    await expect(kv.lock("a", { ttl: 0 }, () => 1)).rejects.toThrow(
      "option 'ttl' in lock() must be a duration from 1ms to 24d, not 0",
    );
    await expect(kv.lock("a", { ttl: "90d" }, () => 1)).rejects.toThrow("must be a duration from 1ms to 24d");
    await expect(kv.lock("a", { wait: -1 }, () => 1)).rejects.toThrow(
      "option 'wait' in lock() must be a duration of at least 0, not -1",
    );
    await expect(kv.lock("a", {} as never)).rejects.toThrow("lock() takes a function (lock) last");
  });
});

it("A lock that cannot be renewed is lost when its machine has slept for longer than its time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  let away = true;
  const renew = vi.fn(async () => {
    if (away) throw new Error("the store is away");
    return 1;
  });
  const scripts = { take: { run: async () => 7 }, renew: { run: renew }, free: { run: async () => 1 } };
  await withLock(scripts as unknown as LockScripts, "job", { ttl: "10m" }, async ({ signal }) => {
    await vi.advanceTimersByTimeAsync(200_001);
    expect([renew.mock.calls.length, signal.aborted]).toEqual([1, false]);
    away = false;
    await vi.advanceTimersByTimeAsync(60_001);
    expect([renew.mock.calls.length, signal.aborted]).toEqual([2, false]);
    away = true;
    // The clock that only moves forward stands still while the machine sleeps.
    const now = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => now + 3_600_000);
    await vi.advanceTimersByTimeAsync(200_001);
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST" });
  });
});
