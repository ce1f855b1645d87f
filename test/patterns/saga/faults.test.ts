import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import type { StepContext } from "../../../src/patterns/saga/steps.js";
import { SagaStorage } from "../../../src/patterns/saga/storage.js";
import { makeDatabase, withServer } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const patient = { timeout: 100_000, interval: 50 };

describe.skipIf(!server)("sagas and jobs in a broken world", { timeout: 120_000 }, () => {
  let url: string;
  let drop: () => Promise<void>;
  let apps: App[];
  beforeEach(async () => {
    apps = [];
    ({ url, drop } = await makeDatabase(server!));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await Promise.all(apps.map((app) => app.stop()));
    await drop();
  });
  const create = (): App => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    return app
      .enableDatabase({ url, poolSize: 5 })
      .enableSaga({ poll: "50ms", lease: "400ms", backoff: "1ms", maxRetries: 100, timeoutMs: 0 })
      .enableJobs({ poll: "50ms", lease: "400ms" });
  };
  const three = (app: App) => {
    const effect = ({ key }: StepContext<unknown, unknown>): Promise<unknown> =>
      app.database.execute("insert into effects (key) values ($1) on conflict do nothing", [key]);
    return app.saga(
      saga("three")
        .step("a", { action: effect })
        .waitFor("go", { timeout: "1ms", optional: true })
        .step("b", { action: effect })
        .step("c", { action: effect }),
    );
  };
  const effects = (app: App) => app.database.fetchval<number>("select count(*)::int from effects");

  it("A transition that was committed but not confirmed is neither lost nor made twice", async () => {
    const app = create();
    const handle = three(app);
    await app.start();
    await app.database.script("create table effects (key text primary key)");
    const { transition } = SagaStorage.prototype;
    const seen = new Set<string>();
    vi.spyOn(SagaStorage.prototype, "transition").mockImplementation(async function (this: SagaStorage, ...args) {
      const next = await transition.apply(this, args);
      const [, changes, within] = args;
      const name = changes.map(({ event, logStep }) => `${event} ${logStep}`).join();
      if (within !== undefined || seen.has(name)) return next;
      seen.add(name);
      throw new Error("the connection was lost while the server answered");
    });
    const id = await handle.start(null, { id: "x" });
    // The start, too: its caller repeats it with the same id.
    expect(await handle.start(null, { id: "x" })).toBe("x");
    const run = await handle.wait(id, { timeoutMs: 100_000 });
    expect(run).toMatchObject({ status: "completed" });
    expect(seen.size).toBeGreaterThanOrEqual(3);
    expect(await effects(app)).toBe(3);
    const log = (await app.sagas.log(id)).filter(({ event }) => event === "action done").map(({ step }) => step);
    expect(log).toEqual(["a", "b", "c"]);
  });

  it("Sessions that the database ends under load, as in a restart, lose no saga and no job", async () => {
    const app = create();
    const handle = three(app);
    const job = app.job<number>("effect", { retries: 1000, backoff: "1ms" }, (n) =>
      app.database.execute("insert into effects (key) values ($1) on conflict do nothing", [`job ${n}`]),
    );
    await app.start();
    await app.database.script("create table effects (key text primary key)");
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = '${new URL(url).pathname.slice(1)}' and pid <> pg_backend_pid()`;
    const persist = async (run: () => Promise<unknown>): Promise<void> => {
      await vi.waitFor(run, patient);
    };
    const started = Array.from({ length: 30 }, async (_, n) => {
      await persist(() => handle.start(null, { id: `s${n}` }));
      await persist(() => job.enqueue(n, { key: `j${n}` }));
    });
    for (let n = 0; n < 4; n++) await withServer(server!, end);
    await Promise.all(started);
    await vi.waitFor(async () => {
      const open = `select (select count(*) from stoa.sagas where finished_at is null)
        + (select count(*) from stoa.jobs where finished_at is null)`;
      expect(await app.database.fetchval(open)).toBe(0);
    }, patient);
    expect(await effects(app)).toBe(30 * 4);
    expect(await app.database.fetchval("select count(*) from stoa.sagas where status = 'completed'")).toBe(30);
  });

  it("The clock of the process does not matter: only that of the database decides", async () => {
    const app = create();
    const ran: string[] = [];
    const handle = app.saga(
      saga("clock", { timeoutMs: 30_000 }).sleep("rest", "50ms").waitFor("never", { timeout: "50ms", optional: true }),
    );
    const job = app.job<string>("late", {}, (value) => ran.push(value));
    app.job("tick", { schedule: "200ms" }, () => ran.push("tick"));
    await app.start();
    for (const now of ["2001-01-01", "2099-01-01"]) {
      vi.useFakeTimers({ toFake: ["Date"], now: new Date(now) });
      const id = await handle.start(null);
      await job.enqueue("in an hour", { delay: "1h" });
      await job.enqueue(now, { delay: "20ms" });
      expect(await handle.wait(id, { timeoutMs: 60_000 })).toMatchObject({ status: "completed" });
      await vi.waitFor(() => expect(ran).toContain(now), patient);
    }
    await vi.waitFor(() => expect(ran).toContain("tick"), patient);
    expect(ran).not.toContain("in an hour");
    const wrong = await app.database.fetchval(
      "select count(*) from stoa.jobs where created_at < now() - interval '1 hour' or created_at > now() + interval '1 hour'",
    );
    expect(wrong).toBe(0);
  });

  it("The result of a paused worker is refused after another one has the saga", async () => {
    const app = create();
    await app.start();
    const a = new SagaStorage(app.database, "stoa", "a", 1500);
    const b = new SagaStorage(app.database, "stoa", "b", 60_000);
    await a.insert({ id: "p", name: "paused", version: 1, steps: "step a", input: "null", timeoutMs: 0 }, app.database);
    const known = [{ name: "paused", version: 1, steps: "step a" }];
    const [first] = await a.claim(known, 5);
    expect(await b.claim(known, 5)).toEqual([]);
    const second = await vi.waitFor(async () => {
      const [row] = await b.claim(known, 5);
      expect(row).toBeDefined();
      return row!;
    }, patient);
    await expect(a.transition(first!, [{ event: "action done", step: 1 }])).rejects.toThrow();
    expect((await a.renew([first!])).size).toBe(0);
    expect(await b.transition(second, [{ event: "action done", step: 1 }])).toMatchObject({ step: 1 });
    expect((await app.sagas.log("p")).map(({ event }) => event)).toEqual(["started", "action done"]);
  });
});
