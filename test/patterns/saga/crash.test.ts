import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { sagaTables } from "../../../src/patterns/saga/tables.js";
import { installTables } from "../../../src/patterns/storage/tables.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";

const server = service("postgres");
const long = process.env["STOA_LONG"] === "1";
const program = join(import.meta.dirname, "driving-process.ts");
/** Both sagas have about 70 chances to be killed. The long mode takes each of them. */
const chances = long ? Array.from({ length: 70 }, (_, n) => n + 1) : [1, 4, 9, 16, 23, 34, 47, 68];

describe.skipIf(!server)("workers that are killed while they drive sagas", () => {
  let db: Database;
  let url: string;
  let drop: () => Promise<void>;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    ({ url, drop } = await makeDatabase(server!));
    db = await openDatabase(url);
    await installTables(db, "stoa", sagaTables);
    await db.script(
      "create table effects (key text primary key, saga text, amount int); create table calls (key text, was_new boolean)",
    );
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await db.close();
    await drop();
  });
  const worker = (mode: string, killAt: number): ChildProcess => {
    const child = spawn(process.execPath, ["--import", "tsx", program, url, mode], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, KILL_AT: String(killAt) },
    });
    children.push(child);
    return child;
  };

  it("Killed at any transition, every saga ends completed or compensated, and no effect happens twice", {
    timeout: 600_000,
  }, async () => {
    await db.execute(
      `insert into stoa.sagas (id, name, version, input)
       select 'more ' || n, 'crash', 1, jsonb_build_object('fails', n % 2 = 0) from generate_series(1, $1) n`,
      [chances.length * 2],
    );
    // Workers that die at given chances, several at a time, then two that live: any worker takes over from any other. All
    // sagas together have more chances than the workers use up, so each of these comes to its end.
    for (let wave = 0; wave < chances.length; wave += 4) {
      const mortal = chances
        .slice(wave, wave + 4)
        .map((killAt, n) => worker(wave + n === 0 ? "start" : "join", killAt));
      await Promise.all(mortal.map((child) => once(child, "exit")));
      expect(mortal.map(({ signalCode }) => signalCode)).toEqual(mortal.map(() => "SIGKILL"));
    }
    for (let n = 0; n < 2; n++) worker("join", 0);
    await vi.waitFor(
      async () => {
        const open = await db.fetchval("select count(*) from stoa.sagas where finished_at is null");
        expect(open).toBe(0);
      },
      { timeout: 300_000, interval: 100 },
    );

    const sagas = await db.fetch<{ id: string; status: string; fails: boolean }>(
      "select id, status, (input ->> 'fails')::boolean as fails from stoa.sagas",
    );
    expect(sagas.length).toBeGreaterThanOrEqual(chances.length * 2);
    for (const { id, status, fails } of sagas) {
      // One that was killed too often at its last step, which has no retries, is compensated too.
      if (fails) expect(status, id).toBe("compensated");
      else expect(["completed", "compensated"], id).toContain(status);
      const effects = await db.fetch<{ key: string; amount: number }>(
        "select key, amount from effects where saga = $1",
        [id],
      );
      const sum = effects.reduce((total, { amount }) => total + amount, 0);
      if (status === "completed") expect(sum, id).toBe(5);
      else expect(sum, id).toBeLessThanOrEqual(0);
      // Each step that had an effect was undone.
      const done = effects.filter(({ amount }) => amount > 0).map(({ key }) => `${key}:compensate`);
      if (status === "compensated") expect(effects.map(({ key }) => key)).toEqual(expect.arrayContaining(done));
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
  });
});
