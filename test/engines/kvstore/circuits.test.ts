import type { KvStore } from "stoa";
import { describe, expect, it } from "vitest";
import type { Admission, Breaker, BreakerState } from "../../../src/batteries/circuit-breaker/store.js";
import { KvBreakerStore } from "../../../src/engines/kvstore/stores/circuits.js";
import { service } from "../../support/service.js";
import { twoApps } from "./apps.js";
import { serverOfTest } from "./redis-servers.js";
import { testStore, until } from "./store.js";

interface Circuit {
  readonly breaker: Breaker;
  readonly changes: BreakerState[];
}

async function twoBreakers(change: object = {}, store?: KvStore): Promise<[Circuit, Circuit]> {
  const kv = store ?? (await testStore());
  const policy = { route: "GET /x", failureThreshold: 3, resetMs: 60_000, halfOpenTarget: 2, ...change };
  const make = (): Circuit => {
    const changes: BreakerState[] = [];
    return { breaker: new KvBreakerStore(kv).breaker(policy, (state) => changes.push(state)), changes };
  };
  return [make(), make()];
}

async function fail(breaker: Breaker): Promise<void> {
  await breaker.report((await breaker.admit()).ticket, "failure");
}

/** Waits until a request may continue. */
async function admitted(breaker: Breaker): Promise<Admission> {
  let admission = await breaker.admit();
  await until(async () => {
    if (admission.ticket === 0) admission = await breaker.admit();
    return admission.ticket !== 0;
  });
  return admission;
}

describe.skipIf(!service("redis"))("circuits in the key-value store", () => {
  it("A shared circuit opens for all processes if their failures together reach the threshold", async () => {
    const [one, two] = await twoBreakers();
    await fail(one.breaker);
    await fail(two.breaker);
    expect(await one.breaker.snapshot()).toMatchObject({ state: "closed", failures: 2 });
    await fail(one.breaker);
    expect(one.changes).toEqual(["open"]);
    expect(two.changes).toEqual([]);
    const refused = await one.breaker.admit();
    expect(refused.ticket).toBe(0);
    expect(refused.waitMs).toBeGreaterThan(50_000);
    await until(async () => (await two.breaker.admit()).ticket === 0);
    // Known to be open: refused without asking.
    expect(two.breaker.admit()).not.toBeInstanceOf(Promise);
    expect(await two.breaker.snapshot()).toMatchObject({ route: "GET /x", state: "open", retry_after: 60 });
  });

  it("A shared circuit counts only consecutive failures", async () => {
    const [one, two] = await twoBreakers();
    await fail(one.breaker);
    await fail(one.breaker);
    await one.breaker.report((await one.breaker.admit()).ticket, "success");
    await fail(one.breaker);
    await fail(one.breaker);
    await two.breaker.report((await two.breaker.admit()).ticket, "neither");
    expect(await two.breaker.snapshot()).toMatchObject({ state: "closed", failures: 2 });
  });

  it("A half-open circuit admits as many probes as it needs, over all processes, and then closes", async () => {
    const [one, two] = await twoBreakers({ failureThreshold: 1, resetMs: 50 });
    await fail(one.breaker);
    const first = await admitted(one.breaker);
    expect(one.changes).toEqual(["open", "half-open"]);
    const second = await two.breaker.admit();
    expect(second.ticket).not.toBe(0);
    expect((await one.breaker.admit()).ticket).toBe(0);
    expect((await two.breaker.admit()).ticket).toBe(0);
    await one.breaker.report(first.ticket, "neither");
    const third = await two.breaker.admit();
    expect(third.ticket).not.toBe(0);
    await two.breaker.report(second.ticket, "success");
    expect(await one.breaker.snapshot()).toMatchObject({ state: "half-open", successes: 1 });
    await two.breaker.report(third.ticket, "success");
    expect(two.changes).toEqual(["closed"]);
    expect((await one.breaker.admit()).ticket).not.toBe(0);
  });

  it("A shared circuit opens again if a probe fails, and ignores reports of an earlier state", async () => {
    const [one] = await twoBreakers({ failureThreshold: 1, resetMs: 40 });
    const late = await one.breaker.admit();
    await fail(one.breaker);
    const probe = await admitted(one.breaker);
    await one.breaker.report(late.ticket, "failure");
    expect(one.changes).toEqual(["open", "half-open"]);
    await one.breaker.report(probe.ticket, "failure");
    expect(one.changes).toEqual(["open", "half-open", "open"]);
  });

  it("A shared circuit does not stay open longer if the clock of the server was set back", async () => {
    const kv = await testStore();
    const [one, two] = await twoBreakers({ failureThreshold: 1, resetMs: 100 }, kv);
    await fail(one.breaker);
    await kv.hash("circuit:{GET /x}").set({ o: Date.now() + 3_600_000 });
    expect((await admitted(two.breaker)).ticket).not.toBe(0);
  });

  it("Each of many requests that wait for the same reply of the store gets its own place", async () => {
    const [one] = await twoBreakers({ failureThreshold: 1, resetMs: 30, halfOpenTarget: 3 });
    await fail(one.breaker);
    await until(async () => (await one.breaker.snapshot()).state === "half-open");
    await until(() => one.breaker.admit() instanceof Promise);
    const admissions = await Promise.all(Array.from({ length: 10 }, () => one.breaker.admit()));
    expect(admissions.filter(({ ticket }) => ticket !== 0).length).toBeLessThanOrEqual(3);
    expect(admissions.filter(({ ticket }) => ticket !== 0).length).toBeGreaterThanOrEqual(2);
  });

  it("A circuit that one application has opened is open in another", async () => {
    const [one, two] = await twoApps((app) => {
      app.enableCircuitBreaker({ failureThreshold: 3, resetTimeout: 600 });
      app.get("/broken", () => {
        throw new Error("broken");
      });
    });
    for (let i = 0; i < 3; i++) expect((await one.get("/broken")).status).toBe(500);
    await until(async () => (await one.get("/broken")).status === 503);
    await until(async () => (await two.get("/broken")).status === 503);
    const circuits = await two.app.circuitBreakers();
    expect(circuits.find(({ route }) => route.includes("/broken"))).toMatchObject({ state: "open" });
  });

  it("Requests pass while the store of the circuits is away", async () => {
    const server = await serverOfTest();
    const [one] = await twoApps(
      (app) => {
        app.enableCircuitBreaker();
        app.get("/", () => "ok");
      },
      { url: server.url },
    );
    await server.kill();
    expect((await one.get("/")).status).toBe(200);
  });
});
