import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fstatSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Breaker } from "../../../src/batteries/circuit-breaker/store.js";
import { circuitService } from "../../../src/engines/supervisor-state/circuits-service.js";
import { SupervisedBreakerStore } from "../../../src/engines/supervisor-state/circuits-store.js";
import { RateLimitService } from "../../../src/engines/supervisor-state/rate-limit-service.js";
import { SupervisedRateLimitStore } from "../../../src/engines/supervisor-state/rate-limit-store.js";
import {
  SharedBreaker,
  SharedBreakerStore,
  sharedCircuitsEnd,
} from "../../../src/engines/supervisor-state/shared-circuits.js";
import { SharedRateLimiter, SharedRateLimitStore } from "../../../src/engines/supervisor-state/shared-rate-limit.js";
import { createSharedMemory, locksAt, maxLocks, type SharedMemory } from "../../../src/server/process/shared-memory.js";
import { patient, until } from "../../server/process/program.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { changesAt, circuits, failuresAt, keys, limit, noteAt, policies } from "./hammered.js";
import { paired } from "./pair.js";
import { limiting, mapped, memoryOf, nextName } from "./shared.js";

const hour = 3_600_000;
const file = fileURLToPath(new URL("./fixtures/hammer.ts", import.meta.url));
const kills = isLong ? 1000 : 30;

function hammer(owner: number, additions = 0): { child: ChildProcess; exited: Promise<unknown[]> } {
  const stdio = ["ignore", "ignore", "inherit", "ignore", mapped!.descriptor] as const;
  const child = spawn(process.execPath, [compiled(file), String(owner), String(additions)], { stdio: [...stdio] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, exited: once(child, "exit") };
}

it("A supervisor has no shared memory if the addon is missing, or if the system refuses it", () => {
  expect(createSharedMemory("it is not built")).toBeNull();
  expect(createSharedMemory({ memory: () => -38, map: () => new ArrayBuffer(8) })).toBeNull();
  const descriptor = openSync(import.meta.filename, "r");
  expect(createSharedMemory({ memory: () => descriptor, map: () => -22 })).toBeNull();
  expect(() => fstatSync(descriptor)).toThrow("EBADF");
});

const noMessages = {
  take(): never {
    throw new Error("counted by messages");
  },
};

describe.skipIf(mapped === null)("memory that processes share", patient, () => {
  const memory = mapped?.shared as SharedMemory;
  const notes = mapped === null ? new Int32Array(0) : new Int32Array(memory.buffer, noteAt(memory.buffer));

  it("Additions and locked changes of several processes are all counted", async () => {
    expect(sharedCircuitsEnd).toBeLessThan(noteAt(memory.buffer));
    const children = [10, 11].map((owner) => hammer(owner, 1_000_000));
    for (const { exited } of children) expect(await exited).toEqual([0, null]);
    expect([...notes.subarray(0, 4)]).toEqual([2, 2_000_000, 2_000_000, 200_000]);
    notes.fill(0);
  });

  it("Counts and circuits are exact though processes are killed in the middle of them, and no lock stays", {
    timeout: 1_800_000,
  }, async () => {
    let started = 0;
    let released = 0;
    while (started < kills) {
      const batch = Array.from({ length: 3 }, () => ({ owner: 100 + ++started, ...hammer(100 + started) }));
      await until(() => Atomics.load(notes, 0) === started);
      for (const { owner, child, exited } of batch) {
        const before = Atomics.load(notes, 3);
        await until(() => Atomics.load(notes, 3) > before);
        child.kill("SIGKILL");
        expect(await exited).toEqual([null, "SIGKILL"]);
        // The others count meanwhile, and wait where this one has a lock.
        released += memory.release(owner);
      }
    }
    expect(memory.release(0)).toBe(4096);
    if (isLong) expect(released).toBeGreaterThan(0);
    // A process that was killed may have counted a request that it has not noted.
    let lost = 0;
    for (let place = 0; place < policies.length * keys; place++) {
      const index = place % policies.length;
      if (index > 1) continue;
      const limiter = new SharedRateLimiter(memory, policies[index]!, noMessages);
      const { remaining } = await limiter.take(`client ${place}`, limit[index]!);
      const unnoted = limit[index]! - remaining - 1 - Atomics.load(notes, 3 + place);
      expect(unnoted).toBeGreaterThanOrEqual(0);
      lost += unnoted;
    }
    expect(lost).toBeLessThanOrEqual(started);
    const [counts, changes, probes] = [0, 1, 2].map(breaker);
    const unnoted = [counts!.snapshot().failures - Atomics.load(notes, failuresAt)];
    // A ticket begins with the number of changes.
    const number = ((await ticketOf(changes!)) - 1) >>> 11;
    unnoted.push(number - Atomics.load(notes, changesAt + 1));
    for (const count of unnoted) {
      expect(count).toBeGreaterThanOrEqual(0);
      expect(count).toBeLessThanOrEqual(started);
    }
    expect(number).toBeGreaterThan(10);
    // Neither do the requests stay that tested a circuit.
    expect([...memory.holds].filter((held) => held !== 0n).length).toBeLessThanOrEqual(1);
    expect(probes!.admit().ticket).not.toBe(0);
    expect(probes!.admit().ticket).toBe(0);
    notes.fill(0);
  });

  /** Changes are noted as those of other processes. */
  function breaker(i: number): SharedBreaker {
    return SharedBreaker.make(memoryOf(0), circuits[i]!, () => void Atomics.add(notes, changesAt + i, 1))!;
  }

  async function ticketOf(one: SharedBreaker): Promise<number> {
    let ticket = 0;
    await until(() => {
      ({ ticket } = one.admit());
      return ticket !== 0;
    });
    return ticket;
  }

  it("Processes that are stopped at any point hold up no circuit, and change it only when they run again", async () => {
    const { child, exited } = hammer(300);
    const counts = breaker(0);
    for (let round = 0; round < (isLong ? 200 : 20); round++) {
      const before = counts.snapshot().failures;
      await until(() => counts.snapshot().failures > before);
      child.kill("SIGSTOP");
      await until(() => /^\d+ \(.*\) T /s.test(readFileSync(`/proc/${child.pid}/stat`, "utf8")));
      const { failures } = counts.snapshot();
      for (let i = 0; i < 100; i++) counts.report(counts.admit().ticket, "failure");
      expect(counts.snapshot().failures).toBe(failures + 100);
      child.kill("SIGCONT");
    }
    child.kill("SIGKILL");
    await exited;
    memory.release(300);
    notes.fill(0);
  });

  it("A circuit that finds the memory full is shared by messages", async () => {
    const workers = paired({ circuits: circuitService(memory) }, 2);
    const stores = workers.map(({ link }, i) => new SharedBreakerStore(memoryOf(i), new SupervisedBreakerStore(link)));
    const make = (route: string, i: number): Breaker =>
      stores[i]!.breaker({ route, failureThreshold: 2, resetMs: hour, halfOpenTarget: 1 }, () => {});
    for (let i = 0; i < 1024; i++) make(`GET /${i}`, 0);
    const [one, other] = [make("GET /last", 0), make("GET /last", 1)];
    expect(one).not.toBeInstanceOf(SharedBreaker);
    for (const each of [one, other]) await each.report((await each.admit()).ticket, "failure");
    expect([(await one.admit()).ticket, (await other.admit()).ticket]).toEqual([0, 0]);
    expect(make("GET /0", 1)).toBeInstanceOf(SharedBreaker);
  });

  it("A request waits for the lock of a process that was killed, and is counted when the supervisor has released it", async () => {
    const policy = { name: nextName(), kind: "token_bucket", windowMs: hour, maxKeys: 10 } as const;
    const limiter = new SharedRateLimiter(memoryOf(0), policy, noMessages);
    const dead = memoryOf(1);
    for (let i = 0; i < 4096; i++) expect(dead.lock(i)).toBe(true);
    const taken = limiter.take("client", 5);
    expect(taken).toBeInstanceOf(Promise);
    expect(memory.release(3)).toBe(4096);
    expect(await taken).toMatchObject({ allowed: true, remaining: 4 });
    expect(limiter.take("client", 5)).toMatchObject({ allowed: true, remaining: 3 });
  });

  it("Requests are counted by messages while a stopped process has their lock, and in the memory after it", async () => {
    const policy = { name: nextName(), kind: "token_bucket", windowMs: 1000 * hour, maxKeys: 10 } as const;
    const [one, other] = paired({ "rate limit": new RateLimitService(memory) }, 2).map(({ link }, index) =>
      new SharedRateLimitStore(memoryOf(index), new SupervisedRateLimitStore(link, true)).limiter(policy),
    );
    const remaining = async (limiter = one!): Promise<number> => {
      const verdict = await limiter.take("client", 5);
      return verdict.allowed ? verdict.remaining : -1;
    };
    expect([await remaining(), await remaining(other), await remaining()]).toEqual([4, 3, 2]);
    const { child, exited } = hammer(200, -1);
    await until(() => /^\d+ \(.*\) T /s.test(readFileSync(`/proc/${child.pid}/stat`, "utf8")));
    expect(new Set(new Int32Array(memory.buffer, locksAt, maxLocks))).toEqual(new Set([200]));
    // The limit holds there for both workers together.
    const counted: number[] = [];
    for (let i = 0; i < 7; i++) counted.push(await remaining(i % 2 === 0 ? one : other));
    expect(counted).toEqual([4, 3, 2, 1, 0, -1, -1]);
    Atomics.store(notes, 1, 1);
    child.kill("SIGCONT");
    expect(await exited).toEqual([0, null]);
    notes.fill(0);
    expect([await remaining(), await remaining(other), await remaining()]).toEqual([1, 0, -1]);
  });

  it("A limit holds for clients that have no place in the memory, before and after there is one", async () => {
    vi.useFakeTimers({ toFake: ["performance", "hrtime", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { stores } = limiting("shared memory", 2);
    const short = { name: nextName(), kind: "sliding_window", windowMs: 1000, maxKeys: 10 } as const;
    const filler = new SharedRateLimiter(memoryOf(0), short, { take: () => null as never });
    for (let i = 0; i < 1.3 * (1 << 14); i++) filler.take(`filler ${i}`, 1);
    const windowMs = 1500;
    const policy = { name: nextName(), kind: "sliding_window", windowMs, maxKeys: 1000 } as const;
    const limiters = stores.map((store) => store.limiter(policy));
    const promised: number[] = [];
    const allowed = Array.from({ length: 100 }, (): number[] => []);
    for (const pause of [0, 600, 600, 600, 8000, 600, 600, 30_000, 1000]) {
      await vi.advanceTimersByTimeAsync(pause);
      const now = performance.now();
      let count = 0;
      const takes = allowed.flatMap((times, client) =>
        limiters.map(async (limiter) => {
          const verdict = limiter.take(`client ${client}`, 2);
          if (verdict instanceof Promise) count++;
          if ((await verdict).allowed) times.push(now);
        }),
      );
      await Promise.all(takes);
      promised.push(count);
    }
    expect(promised[0]).toBeGreaterThan(50);
    expect(promised.at(-1)).toBe(0);
    for (const times of allowed) {
      expect(times.length).toBeGreaterThan(4);
      for (let i = 2; i < times.length; i++) expect(times[i]! - times[i - 2]!).toBeGreaterThanOrEqual(windowMs);
    }
  });

  it("A worker that cannot use the memory counts with those that do", async () => {
    const [one, other] = paired({ "rate limit": new RateLimitService(memory) }, 2);
    const policy = { name: nextName(), kind: "token_bucket", windowMs: 100 * hour, maxKeys: 1000 } as const;
    const inside = new SharedRateLimitStore(memoryOf(0), new SupervisedRateLimitStore(one!.link, true)).limiter(policy);
    const outside = new SupervisedRateLimitStore(other!.link).limiter(policy);
    let allowed = 0;
    for (let i = 0; i < 200; i++) if ((await (i % 3 === 0 ? inside : outside).take("client", 100)).allowed) allowed++;
    expect(allowed).toBe(100);
  });
});
