import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import { type StepContext, type StepOptions, StepRefused } from "../../../src/patterns/saga/steps.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";
import { type OwnServer, startOwnServer } from "../own-server.js";

const shared = service("postgres");
const patient = { timeout: 120_000, interval: 20 };
const count = 40;

describe.skipIf(!shared)("a server that is restarted under running sagas and jobs", () => {
  let server: OwnServer;
  const apps: App[] = [];
  beforeAll(async () => {
    server = await startOwnServer();
  });
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.stop().catch(() => {})));
    await server?.stop();
  });

  /** One of two workers. Effects go to a table with the key of the step as its primary key. */
  async function worker() {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    app
      .enableDatabase({ url: server.url, poolSize: 6 })
      .enableSaga({ lease: "1s", poll: "50ms", backoff: "5ms", maxRetries: 1000, timeoutMs: 0 })
      .enableJobs({ lease: "1s", poll: "50ms" });
    const effect = async ({ key, sagaId }: StepContext<unknown, unknown>): Promise<void> => {
      await app.database.execute("insert into effects values ($1, $2) on conflict do nothing", [key, sagaId]);
    };
    const step: StepOptions<unknown, unknown, void> = { action: effect, compensate: effect, compensateRetries: 1000 };
    const handle = app.saga(
      saga<{ fails: boolean }>("restart")
        .step("one", step)
        .parallel({ two: step, three: step })
        .sleep("rest", "20ms")
        .step("four", step)
        .step("five", {
          compensate: effect,
          compensateRetries: 1000,
          action: async (context) => {
            if (context.input.fails) throw new StepRefused("refused");
            await effect(context);
          },
        }),
    );
    const job = app.job<number>("restart", { retries: 1000, backoff: "5ms" }, (n) =>
      app.database.execute("insert into effects values ($1, 'job') on conflict do nothing", [`job ${n}`]),
    );
    await app.start();
    return { app, handle, job };
  }

  it("Every saga ends completed or compensated as it should, no two workers drive one, and every job is run", {
    timeout: 300_000,
  }, async () => {
    const { app, handle, job } = await worker();
    await app.database.script("create table effects (key text primary key, saga text not null)");
    await worker();
    const persist = (run: () => Promise<unknown>) => vi.waitFor(run, patient);
    const started: number[] = [];
    const start = async (from: number): Promise<void> => {
      for (let n = from; n < count; n += 4) {
        await persist(() => handle.start({ fails: n % 4 === 0 }, { id: `s${n}` }));
        await persist(() => job.enqueue(n, { key: `j${n}` }));
        started.push(n);
      }
    };
    const starting = Promise.all([0, 1, 2, 3].map(start));
    for (const reached of [count / 4, count / 2]) {
      await vi.waitFor(() => expect(started.length).toBeGreaterThanOrEqual(reached), patient);
      await server.restart();
    }
    await starting;
    const open = `select (select count(*) from stoa.sagas where finished_at is null)
      + (select count(*) from stoa.jobs where finished_at is null)`;
    await vi.waitFor(async () => expect(await app.database.fetchval(open)).toBe(0), patient);

    const sagas = await app.database.fetch<{
      id: string;
      status: string;
      fails: boolean;
      effects: number;
      undone: number;
    }>(
      `select id, status, (input ->> 'fails')::boolean as fails,
         (select count(*)::int from effects e where e.saga = s.id and e.key not like '%:compensate') as effects,
         (select count(*)::int from effects e where e.saga = s.id and e.key like '%:compensate') as undone
       from stoa.sagas s`,
    );
    expect(sagas).toHaveLength(count);
    for (const { id, status, fails, effects, undone } of sagas) {
      // The restart may hide the end of an attempt of the last step: nobody knows its effect, so the step is undone too.
      const expected = fails
        ? { id, status: "compensated", effects: 4, undone: undone === 5 ? 5 : 4 }
        : { id, status: "completed", effects: 5, undone: 0 };
      expect({ id, status, effects, undone }).toEqual(expected);
    }
    const backwards = `select count(*)::int from (
      select token, lag(token) over (partition by saga_id order by number) as before from stoa.saga_log) l where token < before`;
    expect(await app.database.fetchval(backwards)).toBe(0);
    const jobs = await app.database.fetchrow(
      "select count(*)::int as jobs, count(*) filter (where status = 'done')::int as done from stoa.jobs",
    );
    // An enqueue whose response was lost is repeated: its job may have ended meanwhile, then there is a second one.
    expect(jobs?.["done"]).toBe(jobs?.["jobs"]);
    expect(await app.database.fetchval("select count(*)::int from effects where saga = 'job'")).toBe(count);
  });
});
