import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../src/app/app.js";
import { NamedLeases } from "../../src/durable/named-leases.js";
import { installTables } from "../../src/durable/tables.js";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { NextDue } from "../../src/patterns/jobs/next-due.js";
import { type JobLook, JobStorage } from "../../src/patterns/jobs/storage.js";
import { jobTables } from "../../src/patterns/jobs/tables.js";
import { OutboxStorage } from "../../src/patterns/outbox/storage.js";
import { outboxTables } from "../../src/patterns/outbox/tables.js";
import { SagaConfig } from "../../src/patterns/saga/config.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { SagaStorage } from "../../src/patterns/saga/storage.js";
import { Sweeper } from "../../src/patterns/saga/sweeper.js";
import { engines } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";

const patient = { timeout: 60_000, interval: 20 };

/** Rows as they are after the clock was set back by an hour: its times before are an hour ahead. */
describe.each(engines(service("postgres")))("after the clock of $name was set back by an hour", (engine) => {
  let url: string;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    ({ url, drop } = await engine.make());
  });
  afterAll(() => drop());

  it("Jobs that were due and those of a dead worker run, delays are kept, and sagas go on", async () => {
    const app = new App();
    app.logger = quiet;
    app.enableDatabase({ url, poolSize: 5 }).enableJobs({ poll: "50ms", lease: "1s" }).enableSaga({ poll: "50ms" });
    const ran: string[] = [];
    app.job<string>("late", {}, (value) => void ran.push(value));
    app.saga(saga("late").step("a", { action: () => void ran.push("saga") }));
    const sleepy = app.saga(saga("sleepy").sleep("long", "2h"));
    const { database: db } = app;
    /** Before the workers: as a process finds the tables at its start. */
    const addJobs = async (): Promise<void> => {
      const direct = await openDatabase(url);
      await installTables(direct, "stoa", jobTables);
      await left(direct);
      await direct.close();
    };
    const left = (queries: Database) =>
      queries.script(`
        insert into stoa.jobs (name, value, created_at, run_at) select 'late', '"due"', t, t
          from (select clock_timestamp() + interval '1 hour' as t) c;
        insert into stoa.jobs (name, value, created_at, run_at) select 'late', '"delayed"', t, t + interval '30 minutes'
          from (select clock_timestamp() + interval '59 minutes' as t) c;
        insert into stoa.jobs (name, value, created_at, run_at, started_at, owner, token, attempts, lease_until)
          select 'late', '"dead"', t - interval '3 hours', t - interval '3 hours', t, 'dead', 1, 1, t + interval '6 seconds'
          from (select clock_timestamp() + interval '1 hour' as t) c;`);
    // An embedded database is open once.
    if (engine.name === "postgres") await addJobs();
    await app.start();
    try {
      if (engine.name === "pglite") {
        await left(db);
        await new JobStorage(db, "stoa", "me", 6000).afterSetBack();
      }
      await vi.waitFor(() => expect([...ran].sort()).toEqual(["dead", "due"]), patient);
      const wait = await db.fetchval<number>(
        "select extract(epoch from run_at - clock_timestamp())::float8 / 60 from stoa.jobs where value = to_jsonb('delayed'::text)",
      );
      // Thirty minutes, and not the hour of the clock.
      expect(wait).toBeGreaterThan(20);
      expect(wait).toBeLessThan(31);

      const id = await sleepy.start(null);
      await vi.waitFor(async () => expect((await app.sagas.get(id))?.status).toBe("waiting"), patient);
      await db.script(`
        update stoa.sagas set updated_at = updated_at + interval '1 hour';
        insert into stoa.sagas (id, name, version, input, updated_at, created_at, wake_at, owner, token, lease_until)
          select id, 'late', 1, 'null', t, t, case id when 'dead' then t - interval '1 minute' else t end, nullif('dead', nullif(id, 'dead')), 1,
            case id when 'dead' then t + interval '6 seconds' else '-infinity' end
          from (select clock_timestamp() + interval '1 hour' as t) c, unnest(array['due', 'dead']) as g (id)`);
      await new Sweeper(new SagaStorage(db, "stoa", "me", 100), new SagaConfig(), quiet, () => []).sweep();
      await vi.waitFor(() => expect(ran.filter((each) => each === "saga")).toHaveLength(2), patient);
      expect(await app.sagas.get(id)).toMatchObject({ status: "waiting" });
    } finally {
      await app.stop();
    }
  });

  it("A sleep starts over, and one until a date is kept", async () => {
    const app = new App();
    app.logger = quiet;
    app.enableDatabase({ url, poolSize: 5 }).enableSaga({ poll: "50ms" });
    const date = new Date(Date.now() + 7_200_000);
    const sleeps = {
      half: app.saga(saga("half an hour").sleep("long", "30m")),
      until: app.saga(saga("until a date").sleep("long", () => date)),
    };
    await app.start();
    try {
      const ids = [await sleeps.half.start(null), await sleeps.until.start(null)];
      for (const id of ids)
        await vi.waitFor(async () => expect((await app.sagas.get(id))?.status).toBe("waiting"), patient);
      await app.database.script(`
        update stoa.sagas set updated_at = updated_at + interval '1 hour', waiting_since = waiting_since + interval '1 hour',
          deadline = deadline + interval '1 hour';
        update stoa.sagas set wait_until = wait_until + interval '1 hour', wake_at = wake_at + interval '1 hour'
          where name = 'half an hour'`);
      await new Sweeper(new SagaStorage(app.database, "stoa", "me", 100), new SagaConfig(), quiet, () => []).sweep();
      const waits = () =>
        app.database.fetch<{ minutes: number; again: boolean }>(
          `select extract(epoch from wait_until - clock_timestamp())::float8 / 60 as minutes,
             waiting_since <= clock_timestamp() and wake_at > wait_until - interval '1 minute' as again
           from stoa.sagas where id = any ($1) order by name`,
          [ids],
        );
      await vi.waitFor(async () => expect((await waits()).map(({ again }) => again)).toEqual([true, true]), patient);
      const [half, until] = await waits();
      expect(half!.minutes).toBeGreaterThan(20);
      expect(half!.minutes).toBeLessThan(31);
      expect(until!.minutes).toBeGreaterThan(100);
      expect(until!.minutes).toBeLessThan(121);
    } finally {
      await app.stop();
    }
  });

  it("Messages of the outbox that were due are published, and delays are kept", async () => {
    const left = (queries: Database) =>
      queries.script(`
        insert into stoa.outbox (broker, topic, message_id, headers, body, size, state, created_at, failed_at, due_at)
          select 'memory', 'late', id, '{}', '{}', 2, state, case state when 'failed' then t - interval '3 hours' else t end,
            case state when 'failed' then t end, t + delay
          from (select clock_timestamp() + interval '1 hour' as t) c,
            (values ('due', 'delayed', interval '0'), ('later', 'delayed', interval '30 minutes'), ('failed', 'failed', interval '1 second'))
              as m (id, state, delay)`);
    if (engine.name === "postgres") {
      const direct = await openDatabase(url);
      await installTables(direct, "stoa", outboxTables);
      await left(direct);
      await direct.close();
    }
    const app = new App();
    app.logger = quiet;
    app.enableDatabase({ url, poolSize: 5 }).enableMemoryBroker().enableOutbox({ poll: "50ms" });
    await app.start();
    try {
      if (engine.name === "pglite") {
        await left(app.database);
        await new OutboxStorage(app.database, "stoa").afterSetBack("memory");
      }
      const kept = () =>
        app.database.fetch<{ id: string; minutes: number }>(
          "select message_id as id, extract(epoch from due_at - clock_timestamp())::float8 / 60 as minutes from stoa.outbox",
        );
      await vi.waitFor(async () => expect((await kept()).map(({ id }) => id)).toEqual(["later"]), patient);
      const [later] = await kept();
      expect(later!.minutes).toBeGreaterThan(20);
      expect(later!.minutes).toBeLessThan(31);
    } finally {
      await app.stop();
    }
  });

  it("The lease of a dead process that ends far in the future is taken, and one that ends somewhat later is not", async () => {
    const db = await openDatabase(url);
    await installTables(db, "stoa", outboxTables);
    const leases = new NamedLeases<{ readonly token: number }>(db, "stoa", "outbox_relays", "broker");
    await db.script(`
      insert into stoa.outbox_relays (broker, owner, token, lease_until) values
        ('far', 'dead', 1, clock_timestamp() + interval '1 hour'), ('near', 'other', 1, clock_timestamp() + interval '4 minutes')`);
    expect(await leases.claim("far", "me", 6000)).toEqual({ token: expect.any(Number) });
    expect(await leases.claim("near", "me", 6000)).toBeNull();
    await db.close();
  });
});

it("A worker that sees the clock of the database go back moves the times of jobs", async () => {
  const times = [5000, 5001, 1400, 1401];
  const look = async (): Promise<JobLook> => ({ at: times.shift()!, due: null, lease: null });
  const afterSetBack = vi.fn(async () => {});
  const due = new NextDue({ look, afterSetBack, leaseMs: 6000 } as never, "late");
  await due.next();
  await due.next();
  expect(afterSetBack).not.toHaveBeenCalled();
  await due.next();
  await due.next();
  expect(afterSetBack).toHaveBeenCalledTimes(1);
});
