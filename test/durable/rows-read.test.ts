import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installTables } from "../../src/durable/tables.js";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { JobRecords } from "../../src/patterns/jobs/records.js";
import { JobStorage } from "../../src/patterns/jobs/storage.js";
import { jobTables } from "../../src/patterns/jobs/tables.js";
import { OutboxStorage } from "../../src/patterns/outbox/storage.js";
import { outboxTables } from "../../src/patterns/outbox/tables.js";
import { SagaAdmin } from "../../src/patterns/saga/admin.js";
import { SagaStorage } from "../../src/patterns/saga/storage.js";
import { sagaTables } from "../../src/patterns/saga/tables.js";
import { makeDatabase } from "../engines/db/engines.js";
import { isLong } from "../support/long.js";
import { service } from "../support/service.js";

const server = service("postgres");
const waiting = isLong ? 1_000_000 : 100_000;

interface Plan {
  readonly "Node Type": string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly Plan[];
}

describe.skipIf(!server)(`beside ${waiting} rows that wait`, { timeout: 240_000 }, () => {
  let db: Database;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const made = await makeDatabase(server!);
    drop = made.drop;
    db = await openDatabase({ url: made.url, statementTimeout: "4m" });
    for (const tables of [jobTables, sagaTables, outboxTables]) await installTables(db, "stoa", tables);
    // One that runs meanwhile would keep "vacuum" from taking away what was deleted.
    for (const table of ["jobs", "sagas", "outbox"])
      await db.execute(`alter table stoa.${table} set (autovacuum_enabled = off)`);
    const soon = "clock_timestamp() + interval '1 hour' + n * interval '1 millisecond'";
    await db.script(`
      insert into stoa.jobs (name, value, priority, run_at) select 'work', '{}', n % 3, ${soon} from generate_series(1, ${waiting}) n;
      insert into stoa.sagas (id, name, version, input, wake_at, waiting_for) select n, 'sleepy', 1, '{}', ${soon}, 's' || n from generate_series(1, ${waiting}) n;
      insert into stoa.outbox (broker, topic, message_id, headers, size, state, due_at)
        select 'kafka', 't', n, '{}', 1, 'delayed', ${soon} from generate_series(1, ${waiting}) n;
      insert into stoa.jobs (name, value, priority) select 'work', '{}', n % 3 from generate_series(1, 10) n;
      insert into stoa.sagas (id, name, version, input) select 'due ' || n, 'sleepy', 1, '{}' from generate_series(1, 10) n;
      insert into stoa.outbox (broker, topic, message_id, headers, size, state, due_at)
        select 'kafka', 't', n, '{}', 1, 'delayed', clock_timestamp() from generate_series(1, 10) n;`);
    for (const table of ["jobs", "sagas", "outbox"]) await db.execute(`vacuum analyze stoa.${table}`);
  }, 240_000);
  afterAll(async () => {
    await db.close();
    await drop();
  });

  /** A database that explains the statements it is given, and counts the blocks that they read. */
  const counting = () => {
    const blocks: number[] = [];
    const over = new Error("rolled back");
    const explain = async (text: string, params: readonly unknown[]): Promise<void> => {
      const run = db.transaction(async (tx) => {
        const value = await tx.fetchval<[{ Plan: Plan }]>(`explain (analyze, buffers, format json) ${text}`, params);
        const { Plan: plan } = value![0];
        blocks.push(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
        // An explained statement has its effects.
        throw over;
      });
      await run.catch((error: unknown) => {
        if (error !== over) throw error;
      });
    };
    const counted = {
      fetch: async (text: string, params: readonly unknown[] = []) => explain(text, params).then(() => []),
      fetchrow: async (text: string, params: readonly unknown[] = []) => explain(text, params).then(() => null),
      fetchval: async (text: string, params: readonly unknown[] = []) => explain(text, params).then(() => null),
      execute: async (text: string, params: readonly unknown[] = []) =>
        explain(text, params).then(() => ({ rowCount: 0, command: "" })),
    };
    return { counted: counted as unknown as Database, blocks };
  };
  /** Rows whose work ends while another transaction is open. */
  const ended = 20_000;
  const past = "clock_timestamp() - (1 + random()) * interval '1 minute'";
  /** Adds such rows, and runs a function while a transaction sees them. */
  const besideLong = async (table: string, columns: string, run: () => Promise<void>) => {
    await db.execute(`insert into stoa.${table} (${columns} from generate_series(1, ${ended}) n`);
    await db.transaction(
      async (tx) => {
        await tx.fetchval(`select count(*) from stoa.${table}`);
        await run();
      },
      { isolation: "repeatable read" },
    );
  };
  /** Far more than the ten rows that are due take, and far fewer than the rows that wait. */
  const few = 1000;
  const tables = { schema: "stoa", table: "stoa.jobs", pauses: "stoa.job_pauses" };

  it("Counts read a bounded number of rows, and show work in progress beside any backlog", async () => {
    const claimed = await new JobStorage(db, "stoa", "me", 60_000).claim("work", 4);
    expect(claimed).toHaveLength(4);
    const jobs = new JobRecords(db, tables);
    expect(await jobs.counts()).toMatchObject({ waiting: 100_000, running: 4, failed: 0 });
    // Those that are due of an earlier name, and of a higher priority.
    await db.script(`
      insert into stoa.jobs (name, value) select 'backlog', '{}' from generate_series(1, 100001) n;
      insert into stoa.jobs (name, value, priority) select 'work', '{}', 9 from generate_series(1, 30000) n;
      insert into stoa.sagas (id, name, version, input, status) values ('parked', 'sleepy', 1, '{}', 'parked');`);
    await db.execute("vacuum analyze stoa.jobs");
    expect(await jobs.counts()).toMatchObject({ waiting: 100_000, running: 4, failed: 0 });
    const sagas = { db, storage: new SagaStorage(db, "stoa", "me", 6000) };
    const { open } = await new SagaAdmin(sagas as never).counts();
    expect(open).toEqual({ waiting: 100_000, running: 10, parked: 1 });
    await db.execute(
      "insert into stoa.sagas (id, name, version, input, status) select 'p' || n, 's', 1, '{}', 'parked' from generate_series(1, 100000) n",
    );
    expect(await new SagaAdmin(sagas as never).parked()).toBe(100_000);
    await db.execute("vacuum analyze stoa.sagas");
    const { counted, blocks } = counting();
    await new JobRecords(counted, tables).counts();
    await new SagaAdmin({ ...sagas, db: counted } as never).counts();
    const whole = (table: string) => db.fetchval<number>(`select (pg_table_size('stoa.${table}') / 8192)::int`);
    expect(blocks[0]!).toBeLessThan((await whole("jobs"))!);
    // From the index alone: the rows of sagas are wide.
    expect(blocks[2]!).toBeLessThan((await whole("sagas"))! / 4);
    await db.script(`
      update stoa.jobs set owner = null, lease_until = '-infinity' where owner = 'me';
      delete from stoa.jobs where name = 'backlog' or priority = 9;
      delete from stoa.sagas where status = 'parked';`);
    for (const table of ["jobs", "sagas"]) await db.execute(`vacuum analyze stoa.${table}`);
  });

  it("The leases for operators read few blocks", async () => {
    const { counted, blocks } = counting();
    await new JobRecords(counted, tables).leases();
    await new SagaStorage(counted, "stoa", "me", 6000).leases();
    expect(blocks).toHaveLength(2);
    expect(Math.max(...blocks)).toBeLessThan(few);
  });

  it("The claim of jobs, the look for the next one and the age of the oldest read few blocks", async () => {
    const { counted, blocks } = counting();
    const jobs = new JobStorage(counted, "stoa", "me", 6000);
    await jobs.look("work", 0, true);
    await new JobRecords(counted, jobs).oldestDueSeconds();
    await jobs.claim("work", 10);
    expect(blocks).toHaveLength(3);
    expect(Math.max(...blocks)).toBeLessThan(few);
    const claimed = await new JobStorage(db, "stoa", "me", 6000).claim("work", 20);
    expect(claimed).toHaveLength(10);
  });

  it("A claim beside a long transaction reads few blocks from the place on where jobs that have ended stop", async () => {
    await db.execute(
      `insert into stoa.jobs (name, value, priority, run_at) select 'ended', '{}', 0, clock_timestamp() - (1 + random()) * interval '1 minute'
       from generate_series(1, ${ended})`,
    );
    const jobs = new JobStorage(db, "stoa", "me", 6000);
    const { counted, blocks } = counting();
    const counter = new JobStorage(counted, "stoa", "me", 6000);
    await db.transaction(
      async (tx) => {
        await tx.fetchval("select count(*) from stoa.jobs where name = 'ended'");
        await db.execute("update stoa.jobs set status = 'done', finished_at = clock_timestamp() where name = 'ended'");
        const low = await jobs.lowest("ended");
        const { id } = await jobs.insert({ name: "ended", key: null, value: "1", delay: 0, priority: 0 }, db);
        await counter.claim("ended", 10);
        await counter.claim("ended", 10, [], low);
        expect(await jobs.claim("ended", 10, [], low)).toMatchObject([{ id }]);
      },
      { isolation: "repeatable read" },
    );
    const [all, few] = blocks;
    expect(all).toBeGreaterThan(ended);
    expect(few).toBeLessThan(1000);
    await db.execute("delete from stoa.jobs where name = 'ended'");
  });

  it("The place from which claims begin is before every job that is free, those of dead workers too", async () => {
    const jobs = new JobStorage(db, "stoa", "me", 6000);
    const add = (hours: number, lease: string) =>
      db.fetchval<number>(
        `insert into stoa.jobs (name, value, run_at, owner, lease_until)
         values ('left', '1', clock_timestamp() - $1::int * interval '1 hour', 'dead', ${lease})
         returning extract(epoch from run_at)::float8`,
        [hours],
      );
    await add(2, "clock_timestamp() + interval '1 hour'");
    const now = await jobs.lowest("left");
    const left = await add(1, "clock_timestamp() - interval '1 second'");
    expect(now).toBeGreaterThan(left! + 3000);
    const low = await jobs.lowest("left");
    expect(low).toBeGreaterThan(left! - 1);
    expect(await jobs.claim("left", 10, [], low)).toHaveLength(1);
    await db.execute("delete from stoa.jobs where name = 'left'");
  });

  it("The claim of sagas and the look for the next one read few blocks", async () => {
    const { counted, blocks } = counting();
    const known = [{ name: "sleepy", version: 1, steps: "step a" }];
    const sagas = new SagaStorage(counted, "stoa", "me", 6000);
    await sagas.nextDue(known);
    await sagas.claim(known, 10);
    expect(blocks).toHaveLength(2);
    expect(Math.max(...blocks)).toBeLessThan(few);
    expect(await new SagaStorage(db, "stoa", "me", 6000).claim(known, 20)).toHaveLength(10);
  });

  it("The statements of the relay read few blocks", async () => {
    const { counted, blocks } = counting();
    const outbox = new OutboxStorage(counted, "stoa");
    await outbox.nextDue("kafka");
    await outbox.failedAndDue("kafka", []);
    await outbox.ready("kafka", 500, []);
    await outbox.promote("kafka");
    expect(blocks).toHaveLength(4);
    expect(Math.max(...blocks)).toBeLessThan(few);
  });

  it("A claim of sagas and the look for the next one, too, read few blocks beside a long transaction", async () => {
    const known = [{ name: "ended", version: 1, steps: "step a" }];
    const sagas = new SagaStorage(db, "stoa", "me", 6000);
    const { counted, blocks } = counting();
    const counter = new SagaStorage(counted, "stoa", "me", 6000);
    await besideLong(
      "sagas",
      `wake_at, name, version, input, id) select ${past}, 'ended', 1, '{}', 'ended ' || n`,
      async () => {
        await db.execute(
          "update stoa.sagas set status = 'completed', finished_at = clock_timestamp() where name = 'ended'",
        );
        const low = await sagas.lowest(known);
        await db.execute("insert into stoa.sagas (name, version, input, id) values ('ended', 1, '{}', 'last')");
        for (const from of [0, low]) {
          await counter.claim(known, 10, [], from);
          await counter.nextDue(known, from);
        }
        expect(await sagas.nextDue(known, low)).toBeLessThan(0);
        expect(await sagas.claim(known, 10, [], low)).toMatchObject([{ id: "last" }]);
      },
    );
    expect(Math.min(...blocks.slice(0, 2))).toBeGreaterThan(few / 4);
    expect(Math.max(...blocks.slice(2))).toBeLessThan(few / 10);
  });

  it("A claim of jobs with limits of keys, too, reads few blocks beside a long transaction", async () => {
    const jobs = new JobStorage(db, "stoa", "me", 6000);
    const { counted, blocks } = counting();
    const rest = { after: "", most: 10, rooms: new Map<string, number>() };
    await besideLong(
      "jobs",
      `run_at, name, value, limit_key) select ${past}, 'ended', '{}', 'k' || n % 100`,
      async () => {
        await db.execute("update stoa.jobs set status = 'done', finished_at = clock_timestamp() where name = 'ended'");
        const low = await jobs.lowest("ended");
        const job = { name: "ended", key: null, value: "1", delay: 0, priority: 0, limitKey: "k7" };
        const { id } = await jobs.insert(job, db);
        for (const from of [0, low]) await jobs.claimByKey("ended", 10, [], from, { ...rest, within: counted });
        expect(await jobs.claimByKey("ended", 10, [], low, { ...rest, within: db })).toMatchObject([{ id }]);
      },
    );
    expect(blocks[0]).toBeGreaterThan(few);
    expect(blocks[1]).toBeLessThan(few / 2);
  });

  it("Beside a long transaction the relay reads a block for dozens of messages that were published since", async () => {
    const { counted, blocks } = counting();
    const outbox = new OutboxStorage(counted, "stoa");
    const columns = `broker, topic, message_id, headers, size) select 'ended', 't', n, '{}', 1`;
    await besideLong("outbox", columns, async () => {
      await db.execute("delete from stoa.outbox where broker = 'ended'");
      await outbox.ready("ended", 500, []);
      await outbox.nextDue("ended");
    });
    expect(Math.max(...blocks)).toBeLessThan(ended / 24);
  });
});
