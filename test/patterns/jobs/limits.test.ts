import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import type { Database, Queries } from "../../../src/engines/db/database.js";
import { LimitedClaims } from "../../../src/patterns/jobs/limits.js";
import { type JobOptions, readJob } from "../../../src/patterns/jobs/options.js";
import { JobStorage } from "../../../src/patterns/jobs/storage.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const patient = { timeout: 60_000, interval: 10 };
const gates = () => {
  const open: (() => void)[] = [];
  return { open, wait: () => new Promise<void>((resolve) => open.push(resolve)) };
};

describe.each(engines(service("postgres")))("limits of jobs in $name", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  const apps: App[] = [];
  const create = (schema: string): App => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    return app.enableDatabase({ url, poolSize: 5 }).enableJobs({ schema, poll: "50ms", lease: "2s" });
  };
  /** Applications that share their jobs: one with PGlite, three machines else. */
  const machines = engine.name === "pglite" ? 1 : 3;
  beforeAll(async () => {
    ({ url, drop } = await engine.make());
  });
  afterAll(async () => {
    await Promise.all(apps.map((one) => one.stop()));
    await drop();
  });

  it("At most so many jobs of a name run at the same time, over all machines", async () => {
    const { open, wait } = gates();
    let [running, most, done] = [0, 0, 0];
    const declared = Array.from({ length: machines }, () => {
      const app = create("running");
      const job = app.job("work", { limit: { running: 4 } }, async () => {
        most = Math.max(most, ++running);
        await wait();
        running--;
        done++;
      });
      return { app, job };
    });
    for (const { app } of declared) await app.start();
    await declared[0]!.job.enqueueMany(Array.from({ length: 20 }, (_, n) => n));
    while (done < 20) {
      await vi.waitFor(() => expect(open.length).toBeGreaterThan(0), patient);
      // Full before one may end: the limit is reached, and never passed.
      if (done <= 16) await vi.waitFor(() => expect(running).toBe(4), patient);
      const ended = done;
      open.shift()!();
      await vi.waitFor(() => expect(done).toBe(ended + 1), patient);
    }
    expect(most).toBe(4);
  });

  it("Each key has a limit of its own, a blocked key holds up no other, and keys take turns", async () => {
    const app = create("keys");
    const { open, wait } = gates();
    const ran: string[] = [];
    const work = app.job(
      "work",
      {
        schema: z.object({ customer: z.string(), n: z.number() }),
        concurrency: 3,
        keyLimit: { key: ({ customer }) => customer, running: 1 },
      },
      async ({ customer, n }) => {
        ran.push(`${customer}${n}`);
        if (customer === "a") await wait();
      },
    );
    await app.start();
    await app.jobs.pause("work");
    const values = ["a", "b", "c", "d"].flatMap((customer) => [1, 2, 3].map((n) => ({ customer, n })));
    await work.enqueueMany(values);
    await app.jobs.resume("work");
    await vi.waitFor(() => expect(ran).toHaveLength(10), patient);
    expect(ran.filter((text) => text.startsWith("a"))).toEqual(["a1"]);
    for (const key of ["b", "c", "d"])
      expect(ran.filter((text) => text.startsWith(key))).toEqual([1, 2, 3].map((n) => `${key}${n}`));
    // Turns: no key is begun a third time before each has been begun once.
    const third = Math.min(...["b3", "c3", "d3"].map((text) => ran.indexOf(text)));
    for (const text of ["a1", "b1", "c1", "d1"]) expect(ran.indexOf(text)).toBeLessThan(third);
    for (const text of ["a2", "a3"]) {
      open.shift()!();
      await vi.waitFor(() => expect(ran).toContain(text), patient);
    }
    open.shift()!();
  });

  it("Jobs without a key have their turn beside a backlog of jobs with keys", async () => {
    const app = create("turns");
    const ran: unknown[] = [];
    const keyLimit = { key: (value: string) => value, running: 1 };
    const work = app.job<string>("work", { concurrency: 1, keyLimit }, (value) => void ran.push(value));
    await app.start();
    await app.jobs.pause("work");
    await work.enqueueMany(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? "a" : "b")));
    // As a schedule adds it, or as it was added before there was a limit.
    await app.database.execute("insert into turns.jobs (name, value) values ('work', '0')");
    await app.jobs.resume("work");
    await vi.waitFor(() => expect(ran).toHaveLength(21), patient);
    expect(ran.indexOf(0)).toBeLessThan(5);
  });

  it("Keys take turns over all workers, and a key that is kept stands for its job", async () => {
    const app = create("started");
    app.job("other", {}, () => {});
    await app.start();
    const storage = new JobStorage(app.database, "started", "one", 60_000);
    const item = { name: "work", key: null, value: "1", delay: 0, priority: 0 };
    await storage.addMany(
      ["a", "b", "a", "b", "c"].map((limitKey) => ({ ...item, limitKey })),
      app.database,
    );
    const job = readJob("work", { keyLimit: { key: () => "", running: 2 } }, () => {});
    for (const key of ["a", "b", "c", "a", "b"])
      expect(await new LimitedClaims(storage, job).claim(1, [])).toMatchObject([{ limitKey: key }]);
    expect(await new LimitedClaims(storage, job).claim(1, [])).toEqual([]);

    // A claim that passes the last key and begins again counts what it has claimed before.
    const single = readJob("single", { keyLimit: { key: () => "", running: 1 } }, () => {});
    await storage.addMany(
      ["a", "b", "b"].map((limitKey) => ({ ...item, name: "single", limitKey })),
      app.database,
    );
    const claims = new LimitedClaims(storage, single);
    expect(await claims.claim(1, [])).toMatchObject([{ limitKey: "a" }]);
    expect(await claims.claim(10, [])).toMatchObject([{ limitKey: "b" }]);

    // A key that is kept after the end of its job stands for it.
    const keyed = { ...item, name: "keyed", key: "x" };
    const { id } = await storage.insert({ ...keyed, keepKey: 3600 }, app.database);
    await app.database.execute("update started.jobs set status = 'done', finished_at = now() where id = $1", [id]);
    expect(await storage.addMany([keyed], app.database)).toEqual([id]);
  });

  it("No more jobs begin within a time than the limit says", async () => {
    const app = create("starts");
    const begun: number[] = [];
    const work = app.job<number>("work", { limit: { starts: 3, per: "1h" } }, (n) => void begun.push(n));
    const keyed = app.job<string>(
      "keyed",
      { keyLimit: { key: (value) => value, starts: 2, per: "1h" } },
      (value) => void begun.push(value.length),
    );
    await app.start();
    const ids = await work.enqueueMany([1, 2, 3, 4, 5, 6, 7]);
    await vi.waitFor(() => expect(begun).toHaveLength(3), patient);
    await vi.waitFor(
      async () =>
        expect(await app.jobs.names()).toEqual([
          { name: "keyed", paused: false, waiting: 0, running: 0, failed: 0 },
          { name: "work", paused: false, waiting: 4, running: 0, failed: 0 },
        ]),
      patient,
    );
    await keyed.enqueueMany(["1234567890", "1234567890", "1234567890", "12345678901"]);
    await vi.waitFor(() => expect(begun.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 10, 10, 11]), patient);
    // An hour later three more may begin.
    await app.database.execute("update starts.job_starts set at = at - interval '1 hour'");
    await vi.waitFor(() => expect(begun).toHaveLength(10), patient);
    expect(begun.filter((n) => n < 10)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await app.jobs.get(ids[6]!)).toMatchObject({ status: "waiting", attempts: 0 });
  });

  it("A name that is paused begins no job on any machine, and takes jobs", async () => {
    const ran: number[] = [];
    const declared = Array.from({ length: machines }, () => {
      const app = create("paused");
      return {
        app,
        work: app.job<number>("work", {}, (n) => void ran.push(n)),
        other: app.job<number>("other", {}, (n) => void ran.push(n)),
      };
    });
    for (const { app } of declared) await app.start();
    const [{ app, work, other }] = declared as [(typeof declared)[number]];
    await app.jobs.pause("work");
    await app.jobs.pause("work");
    for (const each of declared) await each.work.enqueue(1);
    for (const n of [10, 11, 12]) {
      await other.enqueue(n);
      await vi.waitFor(() => expect(ran).toContain(n), patient);
    }
    expect(ran).toEqual([10, 11, 12]);
    await vi.waitFor(
      async () =>
        expect(await app.jobs.names()).toEqual([
          { name: "other", paused: false, waiting: 0, running: 0, failed: 0 },
          { name: "work", paused: true, waiting: machines, running: 0, failed: 0 },
        ]),
      patient,
    );
    expect((await app.jobs.counts()).oldestDueSeconds).toBe(0);
    await app.jobs.resume("work");
    await vi.waitFor(() => expect(ran).toHaveLength(3 + machines), patient);
    expect(await work.enqueue(2)).toMatch(/^\d+$/);
    await expect(app.jobs.pause("wrok")).rejects.toThrow(
      "there is no job with the name \"wrok\"; did you mean 'work'?",
    );
  });

  it("Many jobs are added by one statement, in a transaction or not at all, and a key is there once", async () => {
    const app = create("many");
    const ran: number[] = [];
    const work = app.job("work", { schema: z.object({ n: z.number() }) }, ({ n }) => void ran.push(n));
    await app.start();
    await app.jobs.pause("work");
    const values = Array.from({ length: 10_000 }, (_, n) => ({ n }));
    const statements: { readonly mock: { readonly calls: unknown[] } }[] = [];
    const ids = await app.database.transaction((tx) => {
      statements.push(vi.spyOn(tx, "fetch"), vi.spyOn(tx, "fetchval"), vi.spyOn(tx, "execute"));
      return work.enqueueMany(values, { tx, priority: 3 });
    });
    expect(statements.flatMap(({ mock }) => mock.calls)).toHaveLength(1);
    expect(new Set(ids).size).toBe(10_000);
    expect(await app.jobs.get(ids[777]!)).toMatchObject({ value: { n: 777 }, priority: 3 });
    await expect(work.enqueueMany([{ n: 1 }, { n: "2" } as never])).rejects.toThrow("n");
    const lost = app.database.transaction(async (tx) => {
      await work.enqueueMany([{ n: 1 }], { tx });
      throw new Error("no");
    });
    await expect(lost).rejects.toThrow("no");
    expect(await app.database.fetchval("select count(*)::int from many.jobs")).toBe(10_000);
    const key = ({ n }: { n: number }) => `key ${n % 3}`;
    const first = await work.enqueueMany([{ n: 0 }, { n: 1 }], { key, delay: "1h" });
    const second = await work.enqueueMany([{ n: 3 }, { n: 5 }, { n: 4 }, { n: 8 }], { key });
    expect([second[0], second[2]]).toEqual(first);
    expect(second[3]).toBe(second[1]);
    expect(await work.enqueueMany([])).toEqual([]);
    await expect(work.enqueueMany([{ n: 1 }], { key: () => "" })).rejects.toThrow("option 'key' of enqueueMany()");
    await expect(work.enqueueMany(7 as never)).rejects.toThrow("takes a list of values, not 7");
    await app.database.execute("delete from many.jobs where key is null");
    await app.jobs.resume("work");
    await vi.waitFor(() => expect(ran).toEqual([5]), patient);
  });

  it("A schedule that skips has one job at a time", async () => {
    const app = create("overlap");
    const { open, wait } = gates();
    let begun = 0;
    app.job("skips", { schedule: "100ms", overlap: "skip" }, () => {
      begun++;
      return wait();
    });
    let others = 0;
    app.job("ticks", { schedule: "100ms" }, () => {
      others++;
    });
    await app.start();
    await vi.waitFor(() => expect(others).toBeGreaterThan(4), patient);
    expect(begun).toBe(1);
    open.shift()!();
    await vi.waitFor(() => expect(begun).toBe(2), patient);
    open.shift()!();
  });

  it("Metrics have the time of attempts by name and end", async () => {
    const app = create("metrics").enableMetrics();
    const work = app.job<string>("work", { retries: 1, backoff: "1ms" }, (value, { attempt }) => {
      if (value === "fails" || (value === "twice" && attempt === 1)) throw new Error("no");
    });
    await app.start();
    await work.enqueueMany(["done", "twice", "fails"]);
    await vi.waitFor(async () => {
      const text = await (await app.request("/metrics")).text();
      const counts = [...text.matchAll(/job_duration_seconds_count\{name="work",end="(\w+)"\} (\d+)/g)];
      expect(Object.fromEntries(counts.map(([, end, count]) => [end, Number(count)]))).toEqual({
        done: 2,
        retried: 2,
        failed: 1,
      });
    }, patient);
  });
});

it("A job that was added with others is not added again when one of them has to be looked for", async () => {
  const given: string[][] = [];
  const found = [[{ id: "1" }, { id: null }, { id: "3" }], [{ id: null }], [{ id: "2" }]];
  const fetch = async (_: string, [records]: readonly string[]) => {
    given.push((JSON.parse(records!) as { key: string }[]).map(({ key }) => key));
    return found.shift();
  };
  const within = { kind: "transaction", fetch } as unknown as Queries;
  const storage = new JobStorage(within as Database, "stoa", "me", 1000);
  const items = ["x", "y", "z"].map((key) => ({ name: "work", key, value: "1", delay: 0, priority: 0 }));
  expect(await storage.addMany(items, within)).toEqual(["1", "2", "3"]);
  expect(given).toEqual([["x", "y", "z"], ["y"], ["y"]]);
});

it("Options of schedules and limits that have no effect are refused", () => {
  const read = (options: JobOptions) => readJob("work", options, () => {});
  expect(() => read({ zone: "Europe/Zurich" })).toThrow("option 'zone' of job \"work\" needs a 'schedule' of cron");
  expect(() => read({ zone: "Europe/Zurich", schedule: "5m" })).toThrow("needs a 'schedule' of cron");
  expect(() => read({ zone: "Europe/Zurych", schedule: "0 4 * * *" })).toThrow(
    'must be a time zone, such as "Europe/Zurich", not "Europe/Zurych"',
  );
  expect(() => read({ overlap: "skip" })).toThrow("option 'overlap' of job \"work\" needs a 'schedule'");
  expect(() => read({ limit: {} })).toThrow("needs 'running', 'starts' or both");
  expect(() => read({ limit: { per: "1m" } })).toThrow("needs 'running', 'starts' or both");
  expect(() => read({ keyLimit: { running: 1 } as never })).toThrow("option 'key' is required");
  const { schedule } = read({ zone: "Europe/Zurich", schedule: "0 4 * * mon" });
  expect(schedule!.next(new Date("2027-07-01T00:00:00Z")).toISOString()).toBe("2027-07-05T02:00:00.000Z");
});
