import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { installTables } from "../../../src/durable/tables.js";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { sagaTables } from "../../../src/patterns/saga/tables.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";

const server = service("postgres");
const patient = { timeout: 120_000, interval: 50 };
/** Both sagas together have about 150 chances to be killed. The long mode takes each of them. */
const chances = isLong ? Array.from({ length: 150 }, (_, n) => n + 1) : [1, 34];
/** The effects of a saga that is completed. */
const effectsOfAll = 12;

describe.skipIf(!server)("workers that are killed while they drive sagas", () => {
  let program: string;
  let db: Database;
  let url: string;
  let drop: () => Promise<void>;
  const children: ChildProcess[] = [];
  beforeAll(() => {
    program = compiled(join(import.meta.dirname, "driving-process.ts"));
  });
  beforeEach(async () => {
    ({ url, drop } = await makeDatabase(server!));
    db = await openDatabase(url);
    await installTables(db, "stoa", sagaTables);
    await db.script(
      "create table effects (key text primary key, saga text, amount int); create table calls (key text, was_new boolean); create table beats (pid int)",
    );
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await db.close();
    await drop();
  });
  const worker = (mode: string, killAt: number, pauseAt = 0): ChildProcess => {
    const child = spawn(process.execPath, [program, url, mode], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, KILL_AT: String(killAt), PAUSE_AT: String(pauseAt) },
    });
    children.push(child);
    return child;
  };

  it("Killed at any transition, every saga ends completed or compensated, and no effect happens twice", {
    timeout: 600_000,
  }, async () => {
    await db.execute(
      `insert into stoa.sagas (id, name, version, input)
       select 'more ' || n, 'crash', 1, jsonb_build_object('fails', n % 2 = 0, 'unsure', n % 4 = 0) from generate_series(1, $1) n`,
      [chances.length * 2],
    );
    // Workers that die at given chances, several at a time, then two that live: any worker takes over from any other. All
    // sagas together have more chances than the workers use up, so each of these comes to its end.
    for (let wave = 0; wave < chances.length; wave += 8) {
      const mortal = chances
        .slice(wave, wave + 8)
        .map((killAt, n) => worker(wave + n === 0 ? "start" : "join", killAt));
      await Promise.all(mortal.map((child) => once(child, "exit")));
      expect(mortal.map(({ signalCode }) => signalCode)).toEqual(mortal.map(() => "SIGKILL"));
    }
    for (let n = 0; n < 2; n++) worker("join", 0);
    await everySagaEnded();
    await ledgerIsRight(chances.length * 2);
  });

  it("Two recovering workers killed at once lose nothing, and a worker that was paused past its lease changes nothing", {
    timeout: 600_000,
  }, async () => {
    await db.execute(
      `insert into stoa.sagas (id, name, version, input)
       select 'more ' || n, 'crash', 1, jsonb_build_object('fails', n % 3 = 0, 'unsure', n % 2 = 0) from generate_series(1, 12) n`,
    );
    // One dies, two recover its sagas and are killed together.
    const first = worker("start", 40);
    await once(first, "exit");
    const pair = [worker("join", 0), worker("join", 0)];
    const tokens = () => db.fetchval<number>("select count(*)::int from stoa.saga_log where token > 1");
    await vi.waitFor(async () => expect(await tokens()).toBeGreaterThan(3), patient);
    for (const one of pair) one.kill("SIGKILL");
    await Promise.all(pair.map((one) => once(one, "exit")));
    // Workers that stop in the middle of their work, and continue when others have all of it.
    const paused = [7, 20, 33].map((pauseAt) => worker("join", 0, pauseAt));
    await vi.waitFor(() => expect(paused.map(({ pid }) => isStopped(pid!))).toEqual([true, true, true]), patient);
    worker("join", 0);
    await everySagaEnded();
    const before = await db.fetch("select * from stoa.sagas order by id");
    await db.execute("delete from beats");
    for (const one of paused) one.kill("SIGCONT");
    const beats = async () => {
      const pids = paused.map(({ pid }) => pid);
      return db.fetch<{ n: number }>("select count(*)::int as n from beats where pid = any ($1) group by pid", [pids]);
    };
    await vi.waitFor(async () => {
      const counts = await beats();
      expect(counts).toHaveLength(paused.length);
      for (const { n } of counts) expect(n).toBeGreaterThan(20);
    }, patient);
    expect(await db.fetch("select * from stoa.sagas order by id")).toEqual(before);
    // The worker that dies may have started sagas of its own before.
    await ledgerIsRight(12);
  });

  async function everySagaEnded(): Promise<void> {
    await vi.waitFor(
      async () => {
        const open = await db.fetchval("select count(*) from stoa.sagas where finished_at is null");
        expect(open).toBe(0);
      },
      { timeout: 300_000, interval: 100 },
    );
  }

  /** Checks the effects of all sagas, and the tokens of their logs. */
  async function ledgerIsRight(least: number): Promise<void> {
    const sagas = await db.fetch<{ id: string; status: string; fails: boolean; unsure: boolean }>(
      "select id, status, (input ->> 'fails')::boolean as fails, (input ->> 'fails')::boolean and (input ->> 'unsure')::boolean is true as unsure from stoa.sagas where parent_id is null",
    );
    expect(sagas.length).toBeGreaterThanOrEqual(least);
    for (const { id, status, fails, unsure } of sagas) {
      // One that was killed too often at its last step, which has no retries, is compensated too.
      if (fails) expect(status, id).toBe("compensated");
      else expect(["completed", "compensated"], id).toContain(status);
      const effects = await db.fetch<{ key: string; amount: number }>(
        "select key, amount from effects where saga = $1",
        [id],
      );
      const sum = effects.reduce((total, { amount }) => total + amount, 0);
      if (status === "completed") expect(sum, id).toBe(effectsOfAll);
      else expect(sum, id).toBeLessThanOrEqual(0);
      // Each step that had an effect was undone.
      const done = effects.filter(({ amount }) => amount > 0).map(({ key }) => `${key}:compensate`);
      if (status === "compensated") expect(effects.map(({ key }) => key)).toEqual(expect.arrayContaining(done));
      // A step that could not know its outcome has its effect and its compensation.
      if (unsure) expect(effects.map(({ key }) => key)).toContain(`${id}:five:compensate`);
    }
    const doubled = await db.fetchval(
      "select count(*) from (select key from calls where was_new group by key having count(*) > 1) d",
    );
    expect(doubled).toBe(0);
    // The tokens of the log never go back: no two workers drove one saga at the same time.
    const backwards = await db.fetchval(
      `select count(*) from (select token, lag(token) over (partition by saga_id order by number) as before
       from stoa.saga_log) l where token < before`,
    );
    expect(backwards).toBe(0);
  }
});

/** True if a process is stopped by a signal. */
function isStopped(pid: number): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}
