import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../src/app/app.js";
import { deferred } from "../../src/kit/deferred.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { engines } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { quiet } from "./events/stores.js";

const patient = { timeout: 60_000, interval: 10 };

/** A worker that did not renew its lease in time, and whose work another one could have begun again meanwhile. */
describe.each(engines(service("postgres")))("workers that end after their lease in $name", (engine) => {
  let app: App;
  let url: string;
  let drop: () => Promise<void>;
  const begun: string[] = [];
  const gates = { step: deferred<string>(), event: deferred<void>() };
  const started = { step: deferred<AbortSignal>(), event: deferred<AbortSignal>() };

  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = new App();
    app.logger = quiet;
    app
      .enableDatabase({ url, poolSize: 5 })
      .enableSaga({ poll: "50ms", lease: "1s", timeoutMs: 0 })
      .enableEventSourcing({ storeType: "postgres", poll: "50ms", lease: "1s" });
  });
  afterAll(() => drop());

  it("The signals of a job and of a step that do not end are aborted when the application has stopped", async () => {
    const stopping = new App();
    stopping.logger = quiet;
    stopping.enableDatabase({ url, poolSize: 5 }).enableJobs({ poll: "50ms" }).enableSaga({ poll: "50ms" });
    const signals = [deferred<AbortSignal>(), deferred<AbortSignal>()] as const;
    const forever = new Promise<void>(() => {});
    const job = stopping.job<null>("endless", {}, (_value, { signal }) => {
      signals[0].resolve(signal);
      return forever;
    });
    const handle = stopping.saga(
      saga("endless").step("wait", {
        action: ({ signal }) => {
          signals[1].resolve(signal);
          return forever;
        },
      }),
    );
    await stopping.start();
    await job.enqueue(null);
    await handle.start(null);
    const both = [await signals[0].promise, await signals[1].promise];
    expect(both.map(({ aborted }) => aborted)).toEqual([false, false]);
    await stopping.stop();
    expect(both.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("The results of a step and of a handler of events are kept, and neither is begun again", async () => {
    const handle = app.saga(
      saga("late").step("slow", {
        action: ({ signal }) => {
          begun.push("step");
          started.step.resolve(signal);
          return gates.step.promise;
        },
      }),
    );
    await app.start();
    try {
      const { database: db } = app;
      app.eventStore.subscribe({ name: "late" }, async ({ version }, { signal }) => {
        begun.push(`event ${version}`);
        if (version > 1) return;
        started.event.resolve(signal);
        await gates.event.promise;
      });
      await handle.start(null, { id: "one" });
      const item = { type: "Added", data: {} };
      await app.eventStore.append("order-1", [item, item]);
      const signals = [await started.step.promise, await started.event.promise];

      // Another worker has both, and does nothing.
      const taken = "token = token + 1, owner = 'other', lease_until = clock_timestamp() + interval '4 minutes'";
      await db.script(`
        update stoa.sagas set ${taken} where id = 'one';
        update stoa.subscriptions set ${taken} where name = 'late'`);
      await vi.waitFor(() => expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]), patient);
      gates.step.resolve("late");
      gates.event.resolve();
      const kept = async () => [
        await db.fetchval("select results from stoa.sagas where id = 'one'"),
        await db.fetchval<number>("select position from stoa.subscriptions where name = 'late'"),
      ];
      await vi.waitFor(async () => expect(await kept()).toEqual([{ slow: "late" }, 1]), patient);

      // The other worker is dead.
      const free = "lease_until = '-infinity'";
      await db.script(`update stoa.sagas set ${free}; update stoa.subscriptions set ${free}`);
      expect(await handle.wait("one", { timeoutMs: 60_000 })).toMatchObject({
        status: "completed",
        results: { slow: "late" },
      });
      await vi.waitFor(() => expect([...begun].sort()).toEqual(["event 1", "event 2", "step"]), patient);
      const events = (await app.sagas.log("one")).map(({ event }) => event);
      expect(events).toEqual(expect.arrayContaining(["action done late", "action was done"]));
    } finally {
      await app.stop();
    }
  });
});
