import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../src/app/app.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { engines } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { quiet } from "./events/stores.js";

const patient = { timeout: 60_000, interval: 10 };

describe.each(engines(service("postgres")))(
  "attempts that end after their time in $name",
  { timeout: 120_000 },
  (engine) => {
    let app: App;
    let drop: () => Promise<void>;
    /** Ends the attempts that wait. */
    const gates = new Map<string, (value: string) => void>();
    const late = (name: string) => new Promise<string>((resolve) => void gates.set(name, resolve));
    const declare = () => ({
      job: app.job<string>("late", { timeout: "30ms", retries: 1, backoff: "1ms" }, (value, { attempt }) =>
        attempt === 1 && value !== "marker" ? late("job") : undefined,
      ),
      tried: app.saga(
        saga("tried again").step("slow", {
          timeout: "30ms",
          retries: 1,
          action: ({ attempt }) => (attempt === 1 ? late("tried") : "second"),
        }),
      ),
      undone: app.saga(
        saga("undone").step("slow", {
          timeout: "30ms",
          retries: 0,
          action: () => late("undone"),
          compensate: () => {},
        }),
      ),
      marker: app.saga(saga("marker").step("quick", { action: () => "done" })),
    });
    let given: ReturnType<typeof declare>;
    beforeAll(async () => {
      const made = await engine.make();
      drop = made.drop;
      app = new App();
      app.logger = quiet;
      app
        .enableDatabase({ url: made.url, poolSize: 5 })
        .enableSaga({ poll: "50ms", backoff: "1ms", timeoutMs: 0 })
        .enableJobs({ poll: "50ms" });
      given = declare();
      await app.start();
    });
    afterAll(async () => {
      await app?.stop();
      await drop?.();
    });

    it("A job that was tried again and is done does not change when its first attempt ends", async () => {
      const id = await given.job.enqueue("late");
      const done = await vi.waitFor(async () => {
        const found = await app.jobs.get(id);
        expect(found).toMatchObject({ status: "done", attempts: 2 });
        return found;
      }, patient);
      gates.get("job")!("late");
      const marker = await given.job.enqueue("marker");
      await vi.waitFor(async () => expect(await app.jobs.get(marker)).toMatchObject({ status: "done" }), patient);
      expect(await app.jobs.get(id)).toEqual(done);
    });

    it("A saga that is completed or compensated does not change when an attempt of a step ends", async () => {
      const ids = { tried: await given.tried.start(null), undone: await given.undone.start(null) };
      const tried = await given.tried.wait(ids.tried, { timeoutMs: 60_000 });
      const undone = await given.undone.wait(ids.undone, { timeoutMs: 60_000 });
      expect(tried).toMatchObject({ status: "completed", results: { slow: "second" } });
      expect(undone).toMatchObject({ status: "compensated", results: {} });
      const logs = await Promise.all([ids.tried, ids.undone].map((id) => app.sagas.log(id)));
      gates.get("tried")!("first");
      gates.get("undone")!("first");
      await given.marker.wait(await given.marker.start(null), { timeoutMs: 60_000 });
      expect(await app.sagas.get(ids.tried)).toEqual(tried);
      expect(await app.sagas.get(ids.undone)).toEqual(undone);
      expect(await Promise.all([ids.tried, ids.undone].map((id) => app.sagas.log(id)))).toEqual(logs);
    });
  },
);
