import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import { deleteFinished, deleteKept } from "../../../src/durable/retention.js";
import type { Database, Transaction } from "../../../src/engines/db/database.js";
import type { Job } from "../../../src/patterns/jobs/feature.js";
import { NextDue } from "../../../src/patterns/jobs/next-due.js";
import { JobRefused, type JobsOptions } from "../../../src/patterns/jobs/options.js";
import { JobStorage } from "../../../src/patterns/jobs/storage.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet, recorder } from "../events/stores.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 10 };

describe.each(engines(server))("jobs in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  const apps: App[] = [];
  const ran: unknown[] = [];
  const create = (options: JobsOptions = {}): App => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    return app.enableDatabase({ url, poolSize: 5 }).enableJobs({ poll: "50ms", lease: "1s", ...options });
  };
  beforeAll(async () => {
    ({ url, drop } = await engine.make());
    app = create();
    jobs = declare(app);
    await app.start();
  });
  afterAll(async () => {
    await Promise.all(apps.map((one) => one.stop()));
    await drop();
  });
  let app: App;
  let jobs: ReturnType<typeof declare>;
  let failures = 0;
  const gates = new Map<string, () => void>();

  function declare(one: App) {
    return {
      mail: one.job("mail", { schema: z.object({ to: z.string() }) }, ({ to }, { id }) => ran.push([to, id])),
      flaky: one.job<string>("flaky", { retries: 2, backoff: "1ms" }, (value, { attempt }) => {
        ran.push([value, attempt]);
        if (failures-- > 0) throw new Error("not yet");
      }),
      refused: one.job("refused", { backoff: "1ms" }, () => Promise.reject(new JobRefused("never"))),
      one: one.job<number>("one", { concurrency: 1 }, async (value, { signal, progress }) => {
        ran.push(value);
        if (value !== 0) return;
        await progress({ half: true });
        await new Promise<void>((resolve) => {
          gates.set("one", resolve);
          signal.addEventListener("abort", () => resolve());
        });
      }),
      slow: one.job("slow", { timeout: "20ms", retries: 0 }, () => new Promise(() => {})),
    };
  }
  const ended = (id: string, status: string) =>
    vi.waitFor(async () => {
      const job = await app.jobs.get(id);
      expect(job?.status).toBe(status);
      return job!;
    }, patient);

  it.skipIf(engine.name === "pglite")(
    "Finished jobs are deleted beyond retentionCount, and after retention",
    async () => {
      const sweeping = (options: JobsOptions): { one: App; done: Job<number> } => {
        const one = create({ schema: "swept", ...options });
        return { one, done: one.job<number>("done", {}, () => {}) };
      };
      const { one: first, done } = sweeping({});
      await first.start();
      for (const value of [1, 2, 3]) await done.enqueue(value);
      const finished = (): Promise<number | null> =>
        first.database.fetchval<number>("select count(*)::int from swept.jobs where finished_at is not null");
      await vi.waitFor(async () => expect(await finished()).toBe(3), patient);
      await sweeping({ retentionCount: 1 }).one.start();
      await vi.waitFor(async () => expect(await finished()).toBe(1), patient);
      await sweeping({ retention: 0 }).one.start();
      await vi.waitFor(async () => expect(await finished()).toBe(0), patient);
    },
  );

  it("A job runs with its value, and its value is checked when it is enqueued", async () => {
    const id = await jobs.mail.enqueue({ to: "ada" });
    const job = await ended(id, "done");
    expect(job).toMatchObject({ name: "mail", value: { to: "ada" }, attempts: 1, running: false });
    expect(ran).toContainEqual(["ada", id]);
    await expect(jobs.mail.enqueue({ to: 7 } as never)).rejects.toMatchObject({ status: 422 });
    await expect(jobs.flaky.enqueue(1n as never)).rejects.toThrow("cannot be written as JSON");
    await expect(jobs.flaky.enqueue("x", { delay: -1 })).rejects.toThrow("option 'delay'");
    await expect(jobs.flaky.enqueue("x", { key: "\0" })).rejects.toThrow("option 'key'");
    await ended(await jobs.flaky.enqueue(null as never), "done");
    expect(ran).toContainEqual([null, 1]);
  });

  it("A failing job is tried again, then fails, and can be retried by a person", async () => {
    failures = 2;
    await ended(await jobs.flaky.enqueue("recovers"), "done");
    expect(ran).toContainEqual(["recovers", 3]);
    failures = 3;
    const id = await jobs.flaky.enqueue("fails");
    expect(await ended(id, "failed")).toMatchObject({ error: "Error: not yet", attempts: 3 });
    expect((await app.jobs.list({ status: "failed", name: "flaky" })).map((job) => job.id)).toEqual([id]);
    expect(await app.jobs.retry(id)).toBe(true);
    await ended(id, "done");
    expect(await app.jobs.retry(id)).toBe(false);
    expect(await ended(await jobs.refused.enqueue(null), "failed")).toMatchObject({
      attempts: 1,
      error: "JobRefused: never",
    });
    expect(await ended(await jobs.slow.enqueue(null), "failed")).toMatchObject({
      error: "WorkTimeout: its time is over",
    });
  });

  it("Jobs wait for their delay and their priority, are unique by key, show progress and can be cancelled", async () => {
    ran.length = 0;
    const first = await jobs.one.enqueue(0);
    await vi.waitFor(async () => expect((await app.jobs.get(first))!.progress).toEqual({ half: true }), patient);
    expect(await app.jobs.get(first)).toMatchObject({ running: true, status: "waiting" });
    const later = await jobs.one.enqueue(9, { delay: 3600 });
    const { runAt, createdAt } = (await app.jobs.get(later))!;
    expect(Math.round((runAt.getTime() - createdAt.getTime()) / 60_000)).toBe(60);
    const low = await jobs.one.enqueue(1, { key: "k" });
    expect(await jobs.one.enqueue(1, { key: "k" })).toBe(low);
    const high = await jobs.one.enqueue(2, { priority: 5 });
    gates.get("one")!();
    await ended(low, "done");
    await ended(high, "done");
    expect(ran).toEqual([0, 2, 1]);
    expect(await jobs.one.enqueue(3, { key: "k" })).not.toBe(low);
    expect(await app.jobs.cancel(later)).toBe(true);
    expect(await app.jobs.get(later)).toMatchObject({ status: "cancelled" });
    expect(await app.jobs.cancel(later)).toBe(false);
    const running = await jobs.one.enqueue(0);
    await vi.waitFor(async () => expect((await app.jobs.get(running))!.progress).not.toBeNull(), patient);
    expect(await app.jobs.cancel(running)).toBe(true);
    await ended(running, "cancelled");
    expect(await app.jobs.get("nonsense")).toBeNull();
  });

  it("A job that is enqueued in a transaction runs after its commit, or not at all", async () => {
    const id = await app.database.transaction(() => jobs.mail.enqueue({ to: "committed" }));
    await ended(id, "done");
    let lost = "";
    const failing = app.database.transaction(async (tx) => {
      lost = await jobs.mail.enqueue({ to: "rolled back" }, { tx });
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await app.jobs.get(lost)).toBeNull();
  });

  it("A worker whose lease has passed to another one changes nothing", async () => {
    const a = new JobStorage(app.database, "stoa", "a", 60_000);
    const b = new JobStorage(app.database, "stoa", "b", 60_000);
    const { id } = await a.insert({ name: "fenced", key: null, value: "1", delay: 0, priority: 0 }, app.database);
    const [first] = await a.claim("fenced", 5);
    expect(await b.claim("fenced", 5)).toEqual([]);
    await app.database.execute("update stoa.jobs set lease_until = '-infinity' where id = $1", [id]);
    const [second] = await b.claim("fenced", 5);
    expect(await a.settle(first!, { status: "done", error: null })).toBe(false);
    expect((await a.renew([first!])).size).toBe(0);
    expect(await b.settle(second!, { status: "done", error: null })).toBe(true);
    expect(await app.jobs.get(id)).toMatchObject({ status: "done", attempts: 2 });
  });

  if (engine.name !== "pglite")
    it("Each time of a schedule runs on one of all workers, and missed times run once", async () => {
      const runs: string[] = [];
      const start = async (worker: string): Promise<App> => {
        const one = create({ lease: "5m" });
        one.job("tick", { schedule: "100ms" }, (value, { id }) => runs.push(`${worker} ${id} ${value}`));
        await one.start();
        return one;
      };
      const workers = [await start("a"), await start("b"), await start("c")];
      await vi.waitFor(() => expect(runs.length).toBeGreaterThanOrEqual(6), patient);
      await Promise.all(workers.map((one) => one.stop()));
      const keys = await app.database.fetch<{ key: string }>(
        "select key from stoa.jobs where name = 'tick' and attempts > 0",
      );
      expect(new Set(keys.map(({ key }) => key)).size).toBe(keys.length);
      expect(runs.length).toBe(new Set(runs.map((run) => run.split(" ")[1])).size);
      await app.database.execute("update stoa.job_schedules set next_at = next_at - interval '1 hour'");
      const before = await app.database.fetchval<number>("select count(*) from stoa.jobs where name = 'tick'");
      const { JobSchedules } = await import("../../../src/patterns/jobs/schedules.js");
      const { every } = await import("../../../src/patterns/jobs/cron.js");
      const schedules = new JobSchedules(app.database, "stoa", 0, quiet, async () => {});
      const add = vi.fn(async () => {});
      expect(await schedules.tick("tick", every(100), add)).toBeLessThanOrEqual(100);
      expect(add).toHaveBeenCalledTimes(1);
      expect(before).toBeGreaterThanOrEqual(6);
    });

  it("A start that fails in a hook ends the workers before the database, without an error in the log", async () => {
    const one = create();
    const logged: string[] = [];
    const keep = (text: string): void => void logged.push(text);
    one.logger = { ...quiet, warn: keep, error: keep, child: () => one.logger };
    declare(one);
    // The workers are in the middle of a claim.
    one.onEvent("startup", () => Promise.reject(new Error("boom")));
    await expect(one.start()).rejects.toThrow("boom");
    await one.stop();
    expect(logged).toEqual([]);
  });

  it("Jobs of a dead worker are run when their lease ends, however seldom a worker polls", async () => {
    const one = create({ poll: "1h", lease: "500ms" });
    const values: unknown[] = [];
    const kind = `left ${engine.name}`;
    one.job(kind, {}, (value) => values.push(value));
    await one.start();
    const dead = (value: number, milliseconds: number) =>
      one.database.execute(
        `insert into stoa.jobs (name, value, owner, attempts, token, lease_until)
         values ($1, $2, 'dead', 1, 1, clock_timestamp() + $3 * interval '1 millisecond')`,
        [kind, String(value), milliseconds],
      );
    await dead(1, 300);
    await vi.waitFor(() => expect(values).toEqual([1]), patient);
    // Nothing is left now: the worker goes on looking.
    await dead(2, 50);
    await vi.waitFor(() => expect(values).toEqual([1, 2]), patient);
    await one.stop();
  });

  it("A job that becomes due between a claim and the look after it is found by that look", async () => {
    const storage = new JobStorage(app.database, "stoa", "look", 60_000);
    const kind = `look ${engine.name}`;
    const next = new NextDue(storage, kind);
    // Neither a job nor a lease: the next look at leases.
    expect(await next.next()).toBeGreaterThan(10_000);
    const { id } = await storage.insert(
      { name: kind, key: null, value: "1", delay: 3_600_000, priority: 0 },
      app.database,
    );
    expect(await storage.claim(kind, 5)).toEqual([]);
    await app.database.execute("update stoa.jobs set run_at = clock_timestamp() where id = $1", [id]);
    expect(await next.next()).toBeLessThanOrEqual(0);
    // Found again if the claim did not get it because of a lock.
    const other = new NextDue(storage, kind);
    expect(await other.next()).toBeLessThanOrEqual(0);
    expect(await other.next()).toBeLessThanOrEqual(0);
    const [job] = await storage.claim(kind, 5);
    expect(await other.next()).toBeGreaterThan(10_000);
    await storage.settle(job!, { status: "done", error: null });
  });

  it("The end of the application waits for jobs and for work in the background", async () => {
    const { logger, lines } = recorder();
    const one = create();
    one.logger = logger;
    const done: string[] = [];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 30));
    const job = one.job(`last ${engine.name}`, {}, async () => {
      done.push("begun");
      await pause();
      done.push("job");
    });
    one.get("/", () => {
      one.background(async () => {
        await pause();
        done.push("background");
      });
      one.background(() => Promise.reject(new Error("no")));
      return "ok";
    });
    await one.start();
    await job.enqueue(null);
    await vi.waitFor(() => expect(done).toContain("begun"), patient);
    expect((await one.request("/")).status).toBe(200);
    await one.stop();
    expect(done.toSorted()).toEqual(["background", "begun", "job"]);
    expect(lines).toContain("work in the background failed");
  });

  it("Wrong jobs are refused with a message", async () => {
    const one = create();
    expect(() => one.job("", {}, () => {})).toThrow("the name of a job");
    expect(() => one.job("a", { retrie: 1 } as never, () => {})).toThrow("did you mean 'retries'?");
    expect(() => one.job("a", { schedule: "nonsense" }, () => {})).toThrow("five fields");
    expect(() => one.job("a", { schedule: "50ms" }, () => {})).toThrow("a duration of at least 100ms");
    expect(() => one.job("a", { timeout: "5 m" as never }, () => {})).toThrow("seconds as a number, or text such as");
    expect(() => one.job("a", {}, null as never)).toThrow("takes a name, options if there are any, and a function");
    one.job("a", {}, () => {});
    expect(() => one.job("a", {}, () => {})).toThrow('two jobs with the name "a"');
    const late = { name: "ValueError", message: expect.stringContaining("before the application starts") };
    expect(() => app.job("late", {}, () => {})).toThrow(expect.objectContaining(late));
    expect(() => one.background(7 as never)).toThrow("takes a function");
    const plain = new App();
    plain.logger = quiet;
    const early = plain.job("b", {}, () => {});
    await expect(early.enqueue(1)).rejects.toThrow('the job "b" was used before the application was started');
    await expect(early.enqueueMany([1])).rejects.toThrow('the job "b" was used before the application was started');
    await expect(plain.start()).rejects.toThrow("app.job() needs app.enableDatabase()");
    expect(() => plain.jobs.get("1")).toThrow("app.jobs was used before the application was started");
  });

  it("Many jobs of several kinds that are added at once run once each, and each caller gets the id of its own", async () => {
    ran.length = 0;
    const names = Array.from({ length: 450 }, (_, n) => `n${n}`);
    const ids = await Promise.all(
      names.map((to, n) => (n % 3 === 0 ? jobs.flaky.enqueue(to, { priority: n }) : jobs.mail.enqueue({ to }))),
    );
    for (const [n, id] of ids.entries()) {
      expect((await ended(id, "done")).value).toEqual(n % 3 === 0 ? names[n] : { to: names[n] });
    }
    expect(ran.map((one) => (one as unknown[])[0]).toSorted()).toEqual(names.toSorted());
  });

  it("A job whose end was committed but not confirmed is not run again", async () => {
    const storage = new JobStorage(app.database, "stoa", "me", 1);
    const name = "not confirmed";
    const { id } = await storage.insert({ name, key: null, value: "null", delay: 0, priority: 0 }, app.database);
    const [job] = await storage.claim(name, 1);
    const finish = () => new Promise<boolean>((resolve, reject) => storage.finish(job!, resolve, reject));
    // The response of the first one is lost, and the caller tries again.
    expect([await finish(), await finish()]).toEqual([true, true]);
    expect(await app.jobs.get(id)).toMatchObject({ status: "done", attempts: 1 });
    expect(await storage.claim(name, 1)).toEqual([]);
  });

  it("Finished jobs are deleted by age and by number, and others stay", async () => {
    const names = async (): Promise<unknown[]> => {
      const rows = await app.database.fetch("select key from stoa.jobs where name = 'old' order by key");
      return rows.map(({ key }) => key);
    };
    await app.database.execute(
      `insert into stoa.jobs (name, key, value, status, finished_at)
       select 'old', 'day ' || n, '1'::jsonb, 'done', now() - n * interval '1 day' from generate_series(1, 6) n
       union all select 'old', 'waits', '1'::jsonb, 'waiting', null`,
    );
    const { table } = new JobStorage(app.database, "stoa", "me", 1000);
    await app.database.execute(`delete from ${table} where name <> 'old' and finished_at is not null`);
    await deleteFinished(app.database, table, { age: 4.5 * 86_400, count: 100 });
    expect(await names()).toEqual(["day 1", "day 2", "day 3", "day 4", "waits"]);
    await deleteFinished(app.database, table, { age: 4.5 * 86_400, count: 2 });
    expect(await names()).toEqual(["day 1", "day 2", "waits"]);
  });

  it("A key that is kept stands for its job after the job has ended and was deleted", async () => {
    const key = "kept";
    const add = (keepKey?: "1h") => jobs.mail.enqueue({ to: "kept" }, { key, ...(keepKey ? { keepKey } : {}) });
    const all = await Promise.all([add("1h"), add("1h"), add("1h")]);
    expect(new Set(all).size).toBe(1);
    const id = all[0]!;
    await ended(id, "done");
    expect(await add("1h")).toBe(id);
    expect(await add()).toBe(id);
    await app.database.execute("delete from stoa.jobs where id = $1", [id]);
    expect(await add("1h")).toBe(id);
    expect(await app.database.transaction((tx) => jobs.mail.enqueue({ to: "kept" }, { key, keepKey: "1h", tx }))).toBe(
      id,
    );
    expect(ran.filter((each) => Array.isArray(each) && each[0] === "kept")).toHaveLength(1);
    const storage = new JobStorage(app.database, "stoa", "me", 60_000);
    await deleteKept(app.database, storage.keys, 100);
    expect(await add()).toBe(id);
    await app.database.execute("update stoa.job_keys set until = clock_timestamp() where key = $1", [key]);
    await deleteKept(app.database, storage.keys, 100);
    expect(await app.database.fetchval("select count(*) from stoa.job_keys")).toBe(0);
    expect(await add()).not.toBe(id);
    await expect(jobs.mail.enqueue({ to: "x" }, { keepKey: "1h" })).rejects.toThrow("needs 'key'");
  });

  it("Kept keys are deleted in parts when their time is over, and the earliest ones beyond a number", async () => {
    const { keys } = new JobStorage(app.database, "stoa", "me", 60_000);
    const add = (hours: number) =>
      app.database.execute(
        `insert into ${keys} select 'many', $1::int || ' ' || n, 0, clock_timestamp() + $1::int * interval '1 hour' + n * interval '1 second'
         from generate_series(1, 2500) n`,
        [hours],
      );
    await add(-1);
    await add(1);
    const counts: number[] = [];
    const watched = {
      execute: async (text: string, params: readonly unknown[]) => {
        const result = await app.database.execute(text, params);
        counts.push(result.rowCount);
        return result;
      },
    } as Database;
    expect(await deleteKept(watched, keys, 5000)).toBe(2500);
    expect(await deleteKept(watched, keys, 100)).toBe(2400);
    expect(counts).toEqual([1000, 1000, 500, 1000, 1000, 400]);
    expect(await app.database.fetchval(`select min(key) from ${keys} where name = 'many'`)).toBe("1 2401");
    await app.database.execute(`delete from ${keys} where name = 'many'`);
  });

  it("A key that is kept is free if its transaction is rolled back", async () => {
    const add = (tx?: Transaction) => jobs.mail.enqueue({ to: "gone" }, { key: "gone", keepKey: "1h", tx });
    let first: string | undefined;
    const failing = app.database.transaction(async (tx) => {
      first = await add(tx);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    const second = await add();
    expect(second).not.toBe(first);
    await ended(second, "done");
  });

  it("A job that throws a revoked proxy has failed like any other", async () => {
    const one = create({ schema: "revoked", lease: "1h" });
    const job = one.job("revoked", { retries: 1, backoff: "1ms" }, () => {
      const { proxy, revoke } = Proxy.revocable(new Error("no"), {});
      revoke();
      throw proxy;
    });
    await one.start();
    const id = await job.enqueue(null);
    await vi.waitFor(
      async () => expect(await one.jobs.get(id)).toMatchObject({ status: "failed", attempts: 2 }),
      patient,
    );
  });

  it("A schedule whose next time is from before the clock was set back goes by the clock as it is", async () => {
    const one = create({ schema: "clock" });
    let ticks = 0;
    one.job("ticks", { schedule: "100ms" }, () => void ticks++);
    await one.start();
    await vi.waitFor(() => expect(ticks).toBeGreaterThan(1), patient);
    await one.database.execute("update clock.job_schedules set next_at = clock_timestamp() + interval '1 hour'");
    const before = ticks;
    await vi.waitFor(() => expect(ticks).toBeGreaterThan(before + 1), patient);
  });

  it("A failed job is not run again while another one with its key waits", async () => {
    const id = await jobs.refused.enqueue(null, { key: "one" });
    await vi.waitFor(async () => expect((await app.jobs.get(id))!.status).toBe("failed"), patient);
    await jobs.refused.enqueue(null, { key: "one", delay: "1h" });
    expect(await app.jobs.retry(id)).toBe(false);
    expect((await app.jobs.get(id))!.status).toBe("failed");
  });

  it("A worker that was paused does not settle a job that was cancelled and is run again", async () => {
    const storage = new JobStorage(app.database, "stoa", "me", 60_000);
    const name = "paused-and-cancelled";
    const { id } = await storage.insert({ name, key: null, value: "null", delay: 0, priority: 0 }, app.database);
    const [paused] = await storage.claim(name, 1);
    await app.database.execute("update stoa.jobs set lease_until = '-infinity' where id = $1", [id]);
    expect(await app.jobs.cancel(id)).toBe(true);
    expect(await app.jobs.retry(id)).toBe(true);
    expect(await storage.settle(paused!, { status: "done", error: null })).toBe(false);
    expect(await app.jobs.get(id)).toMatchObject({ status: "waiting" });
  });
});
