import { describe, expect, it, vi } from "vitest";
import { MemoryRevocations } from "../../../src/auth/jwt/revocations.js";
import { MemoryCacheStore } from "../../../src/batteries/cache/memory-store.js";
import { type CacheEntry, cacheTime } from "../../../src/batteries/cache/store.js";
import type { Breaker, BreakerState } from "../../../src/batteries/circuit-breaker/store.js";
import { MemorySessionStore } from "../../../src/batteries/sessions/memory-store.js";
import { cacheService, SupervisedCacheStore } from "../../../src/engines/supervisor-state/cache.js";
import { circuitService } from "../../../src/engines/supervisor-state/circuits-service.js";
import { SupervisedBreakerStore } from "../../../src/engines/supervisor-state/circuits-store.js";
import { revocationService, SupervisedRevocations } from "../../../src/engines/supervisor-state/revocations.js";
import { supervisorServices } from "../../../src/engines/supervisor-state/services.js";
import { SupervisedSessionStore, sessionService } from "../../../src/engines/supervisor-state/sessions.js";
import { SharedBreakerStore } from "../../../src/engines/supervisor-state/shared-circuits.js";
import { type PairedWorker, paired } from "./pair.js";
import { mapped, memoryOf, nextName, ways } from "./shared.js";

const later = (): number => Date.now() / 1000 + 3600;
const noField = (): undefined => undefined;

describe("the state in the supervisor", () => {
  it("A message that is no call is refused, changes nothing, and the state can still be used", async () => {
    const [worker] = paired(supervisorServices(), 1);
    for (const name of ["cache", "circuits", "rooms", "sessions", "revoked tokens"]) {
      for (const message of [null, 5, [], ["constructor"], ["toString"], [{}], { 0: "join" }]) {
        await expect(worker!.link.ask(name, message)).rejects.toThrow("there is no call");
      }
    }
    expect(await worker!.link.ask("revoked tokens", ["join"])).toEqual([]);
  });
});

describe("sessions of workers", () => {
  it("Sessions of a feature do not displace those of users", async () => {
    const [worker] = paired({ sessions: sessionService() }, 1);
    const store = new SupervisedSessionStore(worker!.link, new MemorySessionStore(3));
    const session = { created: 1, active: 1, data: { user: "ada" } };
    await store.set("user", session, 60);
    for (let count = 0; count < 10; count++) await store.set(`mcp:${count}`, session, 60);
    expect(await store.get("user")).toEqual(session);
    expect([await store.get("mcp:6"), await store.get("mcp:9")]).toEqual([null, session]);
    await store.touch("mcp:9", { ...session, active: 2 }, 60);
    expect(await store.get("mcp:9")).toMatchObject({ active: 2 });
    await store.destroy("mcp:9");
    expect(await store.get("mcp:9")).toBeNull();
  });
});

describe("revoked tokens of workers", () => {
  function revoking(
    count: number,
    service = revocationService(),
  ): { workers: PairedWorker[]; stores: SupervisedRevocations[] } {
    const workers = paired({ "revoked tokens": service }, count);
    return { workers, stores: workers.map(({ link }) => new SupervisedRevocations(link, new MemoryRevocations())) };
  }

  it("A revoked token is known to all workers without a promise when add() has resolved, and one of two calls gets true", async () => {
    const { workers, stores } = revoking(3);
    await Promise.all(workers.map(({ link }) => link.settled()));
    const results = await Promise.all([stores[0]!.add("a", later()), stores[1]!.add("a", later())]);
    expect(results.sort()).toEqual([false, true]);
    expect(stores.map((store) => store.has("a"))).toEqual([true, true, true]);
    expect(stores.map((store) => store.has("b"))).toEqual([false, false, false]);
  });

  it("A worker that has just been started waits for the revoked tokens", async () => {
    const service = revocationService();
    await revoking(2, service).stores[0]!.add("a", later());
    const [late] = revoking(1, service).stores;
    const asked = late!.has("a");
    expect(asked).toBeInstanceOf(Promise);
    expect(await asked).toBe(true);
    expect([late!.has("a"), late!.has("b")]).toEqual([true, false]);
  });

  it("A token that a worker revoked before the start is revoked for the other worker too", async () => {
    const [one, two] = paired({ "revoked tokens": revocationService() }, 2);
    const early = new MemoryRevocations(1);
    early.add("a", later());
    const stores = [
      new SupervisedRevocations(one!.link, early),
      new SupervisedRevocations(two!.link, new MemoryRevocations(1)),
    ];
    await one!.link.settled();
    await vi.waitFor(async () => expect(await stores[1]!.has("a")).toBe(true));
    expect(await stores[1]!.add("b", later())).toBe(true);
    expect(await stores[0]!.has("b")).toBe(true);
  });

  it("A revocation is not confirmed while a worker does not reply, and is when that worker has ended", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { workers, stores } = revoking(2);
      await Promise.all(workers.map(({ link }) => link.settled()));
      workers[1]!.stuck = true;
      const adding = expect(stores[0]!.add("a", later())).rejects.toThrow("a worker has not replied within 4 seconds");
      await vi.waitFor(() => expect(stores[0]!.has("a")).toBe(true));
      await vi.advanceTimersByTimeAsync(4000);
      await adding;
      const second = stores[0]!.add("b", later());
      await vi.waitFor(() => expect(stores[0]!.has("b")).toBe(true));
      workers[1]!.kill();
      expect(await second).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("cached responses of workers", () => {
  const entry = (body: string): CacheEntry => {
    const now = cacheTime();
    return {
      status: 200,
      type: "text/plain",
      fields: [],
      body,
      tags: ["books"],
      vary: [],
      madeAt: now,
      initialAgeMs: 0,
      date: Date.now(),
      freshUntil: now + 60_000,
      staleWhileRevalidateMs: 0,
      staleIfErrorMs: 0,
      mayBeStale: true,
      size: 100,
    };
  };

  it("A cached response is dropped in all workers, and one that is being made is not stored", async () => {
    const workers = paired({ cache: cacheService() }, 3);
    const stores = workers.map(({ link }) => new SupervisedCacheStore(link, new MemoryCacheStore(1e6)));
    // A worker that has not joined yet would miss an invalidation.
    expect(stores[1]!.begin()).toBeInstanceOf(Promise);
    for (const store of stores) store.put(await store.begin(), "k", entry("old"));
    const ticket = stores[1]!.begin() as number;
    expect(await stores[0]!.invalidate(["books"])).toBe(3);
    expect(stores.map((store) => store.find("k", noField))).toEqual([undefined, undefined, undefined]);
    expect(stores[1]!.put(ticket, "k", entry("old"))).toBe(false);
    expect(stores[1]!.put(await stores[1]!.begin(), "k", entry("new"))).toBe(true);
    stores[0]!.remove("k");
    await vi.waitFor(() => expect(stores[1]!.find("k", noField)).toBeUndefined());
  });
});

describe.each([...ways, ...(mapped ? ["both"] : [])])("circuits of workers by %s", (way) => {
  /** By both, the first worker uses the memory, and the others messages. */
  function circuits(
    count: number,
    resetMs = 30,
    halfOpenTarget = 2,
  ): { workers: PairedWorker[]; breakers: Breaker[]; changes: BreakerState[] } {
    const workers = paired({ circuits: circuitService(way === "messages" ? null : memoryOf(-1)) }, count);
    const policy = { route: `GET /${nextName()}`, failureThreshold: 3, resetMs, halfOpenTarget };
    const changes: BreakerState[] = [];
    const breakers = workers.map((worker, i) => {
      const messages = new SupervisedBreakerStore(worker.link);
      const isShared = way === "shared memory" || (way === "both" && i === 0);
      if (isShared) worker.once("exit", () => memoryOf(-1).release(memoryOf(i).owner));
      const store = isShared ? new SharedBreakerStore(memoryOf(i), messages) : messages;
      return store.breaker(policy, (state) => changes.push(state));
    });
    return { workers, breakers, changes };
  }

  async function fail(breaker: Breaker): Promise<void> {
    const { ticket } = await breaker.admit();
    await breaker.report(ticket, "failure");
  }

  it("A closed circuit admits requests without a promise, and each change is reported once", async () => {
    const { workers, breakers, changes } = circuits(2, 3_600_000);
    await Promise.all(workers.map(({ link }) => link.settled()));
    expect(breakers[0]!.admit()).toMatchObject({ waitMs: 0 });
    const { ticket } = await breakers[0]!.admit();
    expect(breakers[0]!.report(ticket, "success")).toBeUndefined();
    for (let i = 0; i < 3; i++) await fail(breakers[i % 2]!);
    expect(await Promise.all(breakers.map((breaker) => breaker.admit()))).toMatchObject([{ ticket: 0 }, { ticket: 0 }]);
    expect(changes).toEqual(["open"]);
    expect(await breakers[1]!.snapshot()).toMatchObject({ state: "open" });
  });

  it("A half-open circuit of several workers admits as many requests as one would, and closes after their successes", async () => {
    const { breakers, changes } = circuits(2);
    for (let i = 0; i < 3; i++) await fail(breakers[i % 2]!);
    const probes: { breaker: Breaker; ticket: number }[] = [];
    await vi.waitFor(async () => {
      for (const breaker of breakers) {
        const { ticket } = await breaker.admit();
        if (ticket !== 0) probes.push({ breaker, ticket });
      }
      expect(probes).toHaveLength(2);
    });
    expect(await breakers[0]!.admit()).toMatchObject({ ticket: 0 });
    for (const { breaker, ticket } of probes) await breaker.report(ticket, "success");
    expect(await Promise.all(breakers.map((breaker) => breaker.admit()))).toMatchObject([{ waitMs: 0 }, { waitMs: 0 }]);
    expect(changes).toEqual(["open", "half-open", "closed"]);
    expect(await breakers[1]!.snapshot()).toMatchObject({ state: "closed", failures: 0, successes: 0 });
  });

  it("The failure of one request opens a half-open circuit again, and late reports of earlier states are ignored", async () => {
    const { breakers, changes } = circuits(2);
    const [one, other] = breakers as [Breaker, Breaker];
    const early = await Promise.all([one.admit(), other.admit(), other.admit()]);
    for (let i = 0; i < 3; i++) await fail(one);
    const probe = async (): Promise<number> => {
      let ticket = 0;
      await vi.waitFor(async () => {
        ({ ticket } = await other.admit());
        expect(ticket).not.toBe(0);
      });
      return ticket;
    };
    const first = await probe();
    for (const { ticket } of early) await one.report(ticket, "failure");
    const late = await probe();
    expect(await one.snapshot()).toMatchObject({ state: "half-open", successes: 0 });
    await other.report(first, "failure");
    expect(changes).toEqual(["open", "half-open", "open"]);
    expect(await one.admit()).toMatchObject({ ticket: 0 });
    // A request of the last time has no place any more: there are two again, of which one is returned.
    await other.report(await probe(), "neither");
    const probes = [await probe(), await probe()];
    expect(await one.admit()).toMatchObject({ ticket: 0, waitMs: 1000 });
    await other.report(late, "success");
    expect(await one.admit()).toMatchObject({ ticket: 0, waitMs: 1000 });
    for (const ticket of probes) await other.report(ticket, "success");
    expect(changes).toEqual(["open", "half-open", "open", "half-open", "closed"]);
    for (let i = 0; i < 2; i++) await fail(breakers[i]!);
    await one.report((await one.admit()).ticket, "success");
    for (let i = 0; i < 2; i++) await fail(breakers[i]!);
    expect(await one.snapshot()).toMatchObject({ state: "closed", failures: 2 });
  });

  it("Circuits that test with more requests than the memory has places for are shared by messages", async () => {
    const { breakers, changes } = circuits(2, 3_600_000, 9);
    for (let i = 0; i < 3; i++) await fail(breakers[i % 2]!);
    expect(breakers.map((breaker) => breaker.admit())).toMatchObject([{ ticket: 0 }, { ticket: 0 }]);
    expect(breakers[0]!.snapshot()).toBeInstanceOf(Promise);
    expect(changes).toEqual(["open"]);
  });

  it.each([0, 1])(
    "A half-open circuit has a free place again when worker %i ends before its request did",
    async (dead) => {
      const { workers, breakers } = circuits(2);
      for (let i = 0; i < 3; i++) await fail(breakers[dead]!);
      let taken = 0;
      await vi.waitFor(async () => {
        if ((await breakers[dead]!.admit()).ticket !== 0) taken++;
        expect(taken).toBe(2);
      });
      expect(await breakers[1 - dead]!.admit()).toMatchObject({ ticket: 0 });
      workers[dead]!.kill();
      await vi.waitFor(async () => expect((await breakers[1 - dead]!.admit()).ticket).not.toBe(0));
    },
  );
});
