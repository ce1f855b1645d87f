import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { installTables } from "../../../src/durable/tables.js";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { jobTables } from "../../../src/patterns/jobs/tables.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";

const server = service("postgres");
const patient = { timeout: 120_000, interval: 50 };
const program = join(import.meta.dirname, "running-process.ts");

describe.skipIf(!server)("workers that are killed while they run jobs", () => {
  let db: Database;
  let url: string;
  let drop: () => Promise<void>;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    ({ url, drop } = await makeDatabase(server!));
    db = await openDatabase(url);
    await installTables(db, "stoa", jobTables);
    await db.script(
      "create table effects (id text primary key, n int); create table acknowledged (id text, n int); create table beats (pid int)",
    );
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await db.close();
    await drop();
  });
  const worker = (mode: string, killAt = 0, pauseAt = 0): ChildProcess => {
    const child = spawn(process.execPath, [compiled(program), url, mode], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, KILL_AT: String(killAt), PAUSE_AT: String(pauseAt) },
    });
    children.push(child);
    return child;
  };
  const allEnded = () =>
    vi.waitFor(async () => {
      expect(await db.fetchval("select count(*) from stoa.jobs where finished_at is null")).toBe(0);
    }, patient);
  const isStopped = ({ pid }: ChildProcess): boolean =>
    /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

  it("No acknowledged job is lost, each has its effect, and a worker that was paused past its lease changes nothing", {
    timeout: 600_000,
  }, async () => {
    // Callers that are killed between their jobs, with workers that are killed at any place.
    const chances = isLong ? Array.from({ length: 60 }, (_, n) => 1 + n * 9) : [60, 340];
    for (let wave = 0; wave < chances.length; wave += 4) {
      const mortal = chances.slice(wave, wave + 4).map((killAt) => worker("add", killAt));
      await Promise.all(mortal.map((child) => once(child, "exit")));
      expect(mortal.map(({ signalCode }) => signalCode)).toEqual(mortal.map(() => "SIGKILL"));
    }
    await db.execute(
      `insert into stoa.jobs (name, value) select 'effect', jsonb_build_object('n', n) from generate_series(1, 60) n`,
    );
    const paused = [worker("join", 0, 9), worker("join", 0, 24)];
    await vi.waitFor(() => expect(paused.map(isStopped)).toEqual([true, true]), patient);
    worker("join");
    worker("join");
    await allEnded();
    const before = await db.fetch("select * from stoa.jobs order by id");
    await db.execute("delete from beats");
    for (const one of paused) one.kill("SIGCONT");
    await vi.waitFor(async () => {
      const text = "select pid from beats where pid = any ($1) group by pid having count(*) > 20";
      expect(await db.fetch(text, [paused.map(({ pid }) => pid)])).toHaveLength(2);
    }, patient);
    expect(await db.fetch("select * from stoa.jobs order by id")).toEqual(before);

    const lost = `select count(*) from acknowledged a where not exists
      (select from stoa.jobs j where j.id::text = a.id and j.status = 'done' and (j.value ->> 'n')::int = a.n)`;
    expect(await db.fetchval<number>("select count(*)::int from acknowledged")).toBeGreaterThan(50);
    expect(await db.fetchval(lost)).toBe(0);
    const wrong = `select count(*) from stoa.jobs j left join effects e on e.id = j.id::text
      where j.status <> 'done' or e.n is distinct from (j.value ->> 'n')::int`;
    expect(await db.fetchval(wrong)).toBe(0);
    expect(await db.fetchval("select count(*) from stoa.jobs where attempts > 1")).toBeGreaterThan(0);
  });

  it("Jobs that run beside one that kills its process each time end well", { timeout: 600_000 }, async () => {
    await db.execute(
      `insert into stoa.jobs (name, value) select name, 'null' from unnest(array['killer', 'neighbour', 'neighbour', 'neighbour']) as g (name)`,
    );
    const left = () =>
      db.fetchval<number>("select count(*)::int from stoa.jobs where name = 'neighbour' and finished_at is null");
    while ((await left()) !== 0) {
      const child = worker("join");
      const gone = once(child, "exit");
      while (child.exitCode === null && child.signalCode === null && (await left()) !== 0) {
        await Promise.race([gone, delay(50)]);
      }
    }
    expect(await db.fetch("select distinct status from stoa.jobs where name = 'neighbour'")).toEqual([
      { status: "done" },
    ]);
  });
});
