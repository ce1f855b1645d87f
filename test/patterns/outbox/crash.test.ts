import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { installTables } from "../../../src/durable/tables.js";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { inboxTables, outboxTables } from "../../../src/patterns/outbox/tables.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { wireTable } from "./table-broker.js";

const server = service("postgres");
const patient = { timeout: 120_000, interval: 50 };
/** For thousands of messages. */
const veryPatient = { timeout: 900_000, interval: 200 };

interface Worker {
  readonly child: ChildProcess;
  /** Resolves when a line of the output contains the text. */
  says(text: string): Promise<void>;
}

describe.skipIf(!server)("workers of the outbox that are killed or paused", () => {
  let program: string;
  let db: Database;
  let url: string;
  let drop: () => Promise<void>;
  const workers: Worker[] = [];
  beforeAll(() => {
    program = compiled(join(import.meta.dirname, "relaying-process.ts"));
  });
  beforeEach(async () => {
    ({ url, drop } = await makeDatabase(server!));
    db = await openDatabase(url);
    await installTables(db, "stoa", outboxTables);
    await installTables(db, "stoa", inboxTables);
    await db.script(`${wireTable}; create table ledger (key text, n int, primary key (key, n));
      create table counters (key text primary key, n int not null); create table effects (key text, n int);
      insert into counters select 'k' || i, 0 from generate_series(0, 9) i`);
  });
  afterEach(async () => {
    for (const { child } of workers.splice(0)) child.kill("SIGKILL");
    await db.close();
    await drop();
  });

  function worker(mode: "publish" | "relay", env: Record<string, string> = {}): Worker {
    const child = spawn(process.execPath, [program, url, mode], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    let output = "";
    child.stdout!.on("data", (data) => (output += data));
    const says = (text: string) => vi.waitFor(() => expect(output).toContain(text), patient);
    const made = { child, says };
    workers.push(made);
    return made;
  }

  /** Stores messages as a program that was killed after its commits left them. */
  const store = (from: number, to: number) =>
    db.execute(
      `with l as (insert into ledger select 'k' || n % 3, n from generate_series($1::int, $2) n returning key, n)
       insert into stoa.outbox (broker, topic, key, message_id, headers, body, size)
       select 'memory', 'orders', key, 'm' || n, '{"content-type":"application/json"}', json_build_object('key', key, 'n', n)::text, 100
       from l order by n`,
      [from, to],
    );
  const emptied = () =>
    vi.waitFor(async () => expect(await db.fetchval("select count(*)::int from stoa.outbox")).toBe(0), veryPatient);
  const sent = () =>
    db.fetch<{ sender: number; key: string; n: number }>(
      "select sender, key, (body::json ->> 'n')::int as n from wire order by wire.n",
    );
  /** The order in which the messages of each key came first. */
  const firsts = (rows: readonly { key: string; n: number }[]) => {
    const lists = new Map<string, number[]>();
    const seen = new Set<string>();
    for (const { key, n } of rows) {
      if (seen.has(`${key} ${n}`)) continue;
      seen.add(`${key} ${n}`);
      lists.set(key, [...(lists.get(key) ?? []), n]);
    }
    return lists;
  };
  const expectOrder = (rows: readonly { key: string; n: number }[]) => {
    for (const [key, list] of firsts(rows)) expect(list, key).toEqual(list.toSorted((a, b) => a - b));
  };

  it("Killed at any moment, publishers and relays lose nothing, keep the order of each key, and each effect happens once", {
    timeout: 1_800_000,
  }, async () => {
    const places = ["after read", "before publish", "after publish", "before mark", "after mark", "in handler"];
    const rounds = isLong ? 10 : 1;
    for (let round = 0; round < rounds; round++) {
      const publishers = ["before commit", "after commit"].map((PLACE, n) =>
        worker("publish", { PLACE, FAULT_AT: String(60 + 17 * n + 5 * round) }),
      );
      await Promise.all(publishers.map(({ child }) => once(child, "exit")));
      // Several at a time: each waits for the lease of the one before, whose process is dead.
      const relays = places.map((PLACE, n) => worker("relay", { PLACE, FAULT_AT: String(1 + ((n + round) % 3)) }));
      const ends = relays.map(async ({ child }) => (await once(child, "exit"))[1]);
      // The last ones find nothing to do if those before them were slow to die: further messages come until all are dead.
      let dying = true;
      const feeding = (async () => {
        for (let next = 10_000 * (round + 1); dying; next += 3) {
          await store(next, next + 2);
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      })();
      const signals = await Promise.all(ends);
      dying = false;
      await feeding;
      expect(signals).toEqual(places.map(() => "SIGKILL"));
      // The publishers of the next round go on behind the numbers of these messages.
      await db.execute("update counters set n = $1", [10_000 * (round + 1) + 5000]);
    }
    worker("relay");
    worker("relay");
    await emptied();
    const ledger = await db.fetchval<number>("select count(*)::int from ledger");
    await vi.waitFor(async () => {
      expect(await db.fetchval("select count(*)::int from wire where not acked")).toBe(0);
    }, veryPatient);
    expect(ledger).toBeGreaterThan(100);
    const missing =
      "select count(*)::int from ledger l where not exists (select from effects e where e.key = l.key and e.n = l.n)";
    const doubled = "select count(*)::int from (select from effects group by key, n having count(*) > 1) d";
    const strangers =
      "select count(*)::int from effects e where not exists (select from ledger l where l.key = e.key and l.n = e.n)";
    expect(await db.fetchval(missing)).toBe(0);
    expect(await db.fetchval(doubled)).toBe(0);
    expect(await db.fetchval(strangers)).toBe(0);
    expectOrder(await sent());
  });

  it("A relay that was paused between reading and publishing publishes nothing that another has taken over", {
    timeout: 120_000,
  }, async () => {
    await store(1, 30);
    const paused = worker("relay", { PLACE: "after read", FAULT_AT: "1", FAULT: "SIGSTOP" });
    await vi.waitFor(
      async () => expect(await db.fetchval("select count(*)::int from stoa.outbox_relays")).toBe(1),
      patient,
    );
    const other = worker("relay");
    await emptied();
    paused.child.kill("SIGCONT");
    await paused.says("another process publishes the messages of the outbox now");
    await store(31, 40);
    await emptied();
    const rows = await sent();
    expect(rows).toHaveLength(40);
    expect(new Set(rows.map(({ sender }) => sender))).toEqual(new Set([other.child.pid]));
    expectOrder(rows);
  });

  it("A relay that was paused between publishing and marking marks nothing that another has taken over", {
    timeout: 120_000,
  }, async () => {
    await store(1, 5);
    const paused = worker("relay", { PLACE: "before mark", FAULT_AT: "1", FAULT: "SIGSTOP" });
    await vi.waitFor(async () => expect(await sent()).toHaveLength(5), patient);
    const other = worker("relay");
    await emptied();
    // The same ids again, as if they were not published yet: the paused relay would delete them.
    await db.execute(
      `insert into stoa.outbox_relays values ('memory', 'the test', 1000, clock_timestamp() + interval '4 minutes')
       on conflict (broker) do update set token = excluded.token, lease_until = excluded.lease_until`,
    );
    await db.execute(
      `insert into stoa.outbox (id, broker, topic, key, message_id, headers, body, size) overriding system value
       select n, 'memory', 'orders', 'k', 'again' || n, '{}', '{}', 1 from generate_series(1, 5) n`,
    );
    paused.child.kill("SIGCONT");
    await paused.says("another process publishes the messages of the outbox now");
    expect(await db.fetchval("select count(*)::int from stoa.outbox where id <= 5")).toBe(5);
    expect(other.child.exitCode).toBeNull();
  });

  it("A relay that ends in an orderly way hands over at once, with nothing published twice", {
    timeout: 120_000,
  }, async () => {
    await store(1, 200);
    const first = worker("relay");
    await first.says("ready");
    await vi.waitFor(async () => expect((await sent()).length).toBeGreaterThan(0), patient);
    const second = worker("relay");
    first.child.kill("SIGTERM");
    await once(first.child, "exit");
    await store(201, 220);
    await emptied();
    const rows = await sent();
    expect(rows).toHaveLength(220);
    expectOrder(rows);
    expect(second.child.exitCode).toBeNull();
  });
});
