import { join } from "node:path";
import { App } from "stoa";
import { describe, expect, it, onTestFinished } from "vitest";
import { NamedLeases } from "../../src/durable/named-leases.js";
import { holderOf, newOwner } from "../../src/durable/pulse.js";
import { installTables } from "../../src/durable/tables.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { outboxTables } from "../../src/patterns/outbox/tables.js";
import { makeDatabase } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { get, Program, patient, until } from "../server/process/program.js";
import { service } from "../support/service.js";

const server = service("postgres");
const file = join(import.meta.dirname, "leasing-program.ts");

interface Panel {
  readonly title: string;
  readonly actions?: { readonly id: string };
  readonly facts: readonly { readonly label: string; readonly value: unknown }[];
  readonly tables: readonly { readonly title: string; readonly rows: readonly Row[] }[];
}

type Cell = string | { readonly text: string; readonly href?: string };
type Row = [name: Cell, state: { readonly text: string }, machine: Cell, process: string, since: Time, until: Time];
type Time = { readonly at: string | null };

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);

/** None while the panel is late: the page shows that instead after a second. */
function leasesOf(panels: readonly Panel[]): readonly Row[] {
  return panels.find(({ title }) => title === "Leases")?.tables.flatMap(({ rows }) => rows) ?? [];
}

class Machine {
  readonly program: Program;
  /** The rows that were read last. */
  shown: readonly Row[] = [];

  constructor(url: string, env: Readonly<Record<string, string>> = {}) {
    this.program = new Program({ file, env: { DATABASE: url, ...env } });
  }

  async get(path: string): Promise<string> {
    return (await get((await this.program.url()) + path)).text;
  }

  async panels(): Promise<readonly Panel[]> {
    return (JSON.parse(await this.get("/_machine/view")) as { panels: Panel[] }).panels;
  }

  async id(): Promise<string> {
    return (await this.panels())[0]!.actions!.id;
  }

  /** The leases as this machine shows them: the name, the state, and who has each. */
  async leases(): Promise<string[][]> {
    this.shown = leasesOf(await this.panels());
    return this.shown.map(([name, { text }, machine, pid]) => [
      textOf(name),
      text,
      `${textOf(machine)}, process ${pid}`,
    ]);
  }
}

describe.skipIf(!server)("the leases on the page of the machine", patient, () => {
  it("An operator sees who has each lease, that a holder has died, and who has it next", async () => {
    const { url, drop } = await makeDatabase(server!);
    onTestFinished(drop);
    const watch = new Machine(url, { WATCHES: "1" });
    await watch.id();
    const first = new Machine(url);
    await first.get("/begin");
    const names = ["memory", "mail#0/2", "mail#1/2", "projection:counts@1.1", "order first", "report 1"];
    const all = (state: string, machine: string, pid: number): string[][] =>
      names.map((name) => [name, state, `${machine}, process ${pid}`]);
    const shows = async (machine: Machine, expected: readonly string[][]): Promise<void> => {
      let found: string[][] = [];
      const isShown = async (): Promise<boolean> =>
        JSON.stringify((found = await machine.leases())) === JSON.stringify(expected);
      await until(isShown, () => JSON.stringify({ found, expected }, null, 2));
    };
    const [id, { pid }] = [await first.id(), first.program.child];
    await shows(watch, all("held", id, pid!));
    const since = watch.shown.map((row) => row[4].at!);
    await shows(first, all("held", id, pid!));
    first.program.child.kill("SIGKILL");
    await shows(watch, all("over", id, pid!));
    const second = new Machine(url);
    const next = await second.id();
    expect(next).not.toBe(id);
    await shows(watch, all("held", next, second.program.child.pid!));
    for (const [index, row] of watch.shown.entries()) {
      expect(Date.parse(row[4].at!)).toBeGreaterThan(Date.parse(since[index]!));
      expect(Date.parse(row[5].at!)).toBeGreaterThan(Date.parse(row[4].at!));
    }
    const links = watch.shown.map(([name]) => (typeof name === "string" ? undefined : name.href));
    expect(links.slice(-2)).toEqual(["/_sagas#first", "/ops/jobs#1"]);
  });

  it("A lease of a blocked process is told from one that is over, and one that was given back is not listed", async () => {
    const { url, drop } = await makeDatabase(server!);
    onTestFinished(drop);
    const db = await openDatabase(url);
    onTestFinished(() => db.close());
    await installTables(db, "stoa", outboxTables);
    const leases = new NamedLeases<{ readonly token: number }>(db, "stoa", "outbox_relays", "broker");
    const back = await leases.claim("back", "host 1 a", 60_000);
    await leases.release("back", back!.token);
    const held = await leases.claim("held", "host 1 a", 60_000);
    for (const name of ["blocked", "over"]) await leases.claim(name, `host 1 ${name}`, 60_000);
    await db.script(`
      update stoa.outbox_relays set lease_until = clock_timestamp() - interval '1 second' where broker in ('blocked', 'over');
      update stoa.outbox_relays set token = 7 where broker = 'over';
      insert into stoa.silent_workers values ('host 1 blocked', clock_timestamp() + interval '1 hour')`);
    const shown = await leases.shown();
    expect(shown.map(({ name, state }) => [name, state])).toEqual([
      ["blocked", "blocked"],
      ["over", "over"],
      ["held", "held"],
    ]);
    expect(shown[2]!.since!.getTime()).toBe(Math.floor(held!.token / 1000));
    // The token of a claim of an older version is no time.
    expect(shown[1]!.since).toBeNull();
  });

  it("A claim has a higher token than the one before, though the clock of the database was set back", async () => {
    const { url, drop } = await makeDatabase(server!);
    onTestFinished(drop);
    const db = await openDatabase(url);
    onTestFinished(() => db.close());
    await installTables(db, "stoa", outboxTables);
    const leases = new NamedLeases<{ readonly token: number }>(db, "stoa", "outbox_relays", "broker");
    const { token } = (await leases.claim("kafka", "me", 60_000))!;
    await db.execute("update stoa.outbox_relays set token = $1, lease_until = '-infinity'", [token + 1e10]);
    expect(await leases.claim("kafka", "me", 60_000)).toEqual({ token: token + 1e10 + 1 });
    expect(await leases.renew("kafka", token + 1e10, 60_000)).toBe(false);
    expect(await leases.renew("kafka", token + 1e10 + 1, 60_000)).toBe(true);
  });

  it("Of many leases of a kind the first are listed, those that are over before the others, and no backlog hides them", async () => {
    const { url, drop } = await makeDatabase(server!);
    onTestFinished(drop);
    const app = new App().enableDatabase(url).enableJobs({ admin: {} }).enableHealthChecks({ admin: {} });
    app.logger = quiet;
    onTestFinished(() => app.stop());
    await app.start();
    await app.database.script(`
      insert into stoa.jobs (name, value) select 'waits', '{}' from generate_series(1, 2000) n;
      insert into stoa.jobs (name, value, owner, lease_until, started_at)
        select 'held', '{}', 'host 7 ' || n, clock_timestamp() + interval '1 hour', now() from generate_series(1, 60) n;
      insert into stoa.jobs (name, value, owner, lease_until, started_at)
        values ('lost', '{}', 'host 7 x', clock_timestamp() - interval '1 hour', now())`);
    let table = undefined as Panel["tables"][number] | undefined;
    await until(async () => {
      const { panels } = (await (await app.request("/_machine/view")).json()) as { panels: Panel[] };
      table = panels.find(({ title }) => title === "Leases")?.tables[0];
      return table !== undefined;
    });
    expect([table!.title, table!.rows.length]).toEqual(["Jobs, the first 50", 50]);
    expect(table!.rows.slice(0, 2).map(([name, state]) => [textOf(name), state.text])).toEqual([
      ["lost 2061", "over"],
      ["held 2001", "held"],
    ]);
  });
});

describe("the owner of leases", () => {
  it("An owner names its machine and its process, and is no other", () => {
    const owner = newOwner();
    expect(newOwner()).not.toBe(owner);
    const { machine, process: pid } = holderOf(owner);
    expect(pid).toBe(String(process.pid));
    expect(owner.startsWith(`${machine} ${pid} `)).toBe(true);
    expect(holderOf("web-1 4711 0e9b")).toEqual({ machine: "web-1", process: "4711" });
  });
});
