import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Database } from "../../../src/engines/db/database.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { statementName } from "../../../src/engines/db/statements.js";
import type { Logger } from "../../../src/kit/logger.js";
import { compiled } from "../../support/compiled.js";
import { service } from "../../support/service.js";
import { makeDatabase } from "./engines.js";

const server = service("postgres") ?? "";
const pooler = service("pgbouncer") ?? "";

describe("the name of a prepared statement", () => {
  it("The name of a prepared statement depends on its text alone, is short enough and differs for every text", () => {
    expect(statementName("select 1")).toBe(statementName("select 1"));
    const names = new Set(Array.from({ length: 10_000 }, (_, n) => statementName(`select ${n}`)));
    expect(names.size).toBe(10_000);
    for (const name of names) expect(name).toMatch(/^stoa_[\w-]{22}$/);
  });
});

/** A process of its own with a database behind the pooler. It runs the statements it is sent, one per line. */
class Peer {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  constructor(file: string) {
    this.#child = spawn(process.execPath, [compiled(file)], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout! });
  }

  async run(statement: string): Promise<unknown> {
    const line = once(this.#lines, "line");
    this.#child.stdin!.write(`${JSON.stringify(statement)}\n`);
    return JSON.parse(String((await line)[0])) as unknown;
  }

  async end(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.stdin!.end();
    await ended;
  }
}

describe.skipIf(pooler === "")("prepared statements behind PgBouncer in transaction mode", () => {
  let made: Awaited<ReturnType<typeof makeDatabase>>;
  let direct: Database;
  let url: string;
  let folder: string;
  let program: string;

  beforeAll(async () => {
    made = await makeDatabase(server);
    direct = await openDatabase(made.url);
    await direct.script("create table rows (id int); insert into rows select generate_series(1, 1000)");
    const through = new URL(pooler);
    through.pathname = new URL(made.url).pathname;
    // This PgBouncer refuses the setting of a limit. Many that are in use let it pass.
    through.searchParams.set("statement_timeout", "0");
    url = through.href;
    folder = await mkdtemp(join(tmpdir(), "stoa-peer-"));
    program = join(folder, "peer.mts");
    const source = fileURLToPath(new URL("../../../src/engines/db/open-database.ts", import.meta.url));
    await writeFile(
      program,
      `import { createInterface } from "node:readline";
      import { openDatabase } from ${JSON.stringify(source)};
      const db = await openDatabase({ url: ${JSON.stringify(url)}, poolSize: 1 });
      for await (const line of createInterface({ input: process.stdin })) {
        const answer = await db.fetch(JSON.parse(line)).catch((error) => ({ error: error.message }));
        console.log(JSON.stringify(answer));
      }
      await db.close();`,
    );
  });

  afterAll(async () => {
    await direct?.close();
    await made?.drop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it("Two processes behind PgBouncer never run each other's prepared statements", async () => {
    const [first, second] = [new Peer(program), new Peer(program)];
    try {
      // The first statement of each process, twice: the second time it is already prepared.
      for (let round = 0; round < 4; round++) {
        expect(await first.run("select 'first' as who")).toEqual([{ who: "first" }]);
        expect(await second.run("delete from rows where id < 0 returning 'second' as who")).toEqual([]);
        expect(await second.run("select 'second' as who")).toEqual([{ who: "second" }]);
        expect(await first.run("select count(*)::int as n from rows")).toEqual([{ n: 1000 }]);
      }
      // One that deletes, and in the other process a read in its place.
      expect(await first.run("select 1 as one")).toEqual([{ one: 1 }]);
      expect(await second.run("delete from rows returning 1")).toHaveLength(1000);
      await direct.execute("insert into rows select generate_series(1, 1000)");
      for (let n = 0; n < 8; n++) await first.run(`select ${n} as n, (select count(*)::int from rows) as rows`);
      expect(await direct.fetchval("select count(*) from rows")).toBe(1000);
    } finally {
      await Promise.all([first.end(), second.end()]);
    }
  });

  it("Prepared statements of many connections behind PgBouncer are correct, and the log names the option once", async () => {
    const warn = vi.fn();
    const logger = { warn, info: vi.fn(), error: vi.fn(), debug: vi.fn() } as unknown as Logger;
    const open = () => openDatabase({ url, poolSize: 4 }, { logger });
    const databases = [await open(), await open()];
    const calls = Array.from({ length: 400 }, async (_, n) => {
      const db = databases[n % 2]!;
      const kind = n % 5;
      const got = await db.fetchval(`select $1::int * 10 + ${kind}`, [n]);
      expect(got).toBe(n * 10 + kind);
    });
    await Promise.all(calls);
    for (let n = 0; n < 50; n++) expect(await databases[n % 2]!.fetchval(`select ${n % 3}`)).toBe(n % 3);
    const named = warn.mock.calls.filter(([message]) => String(message).includes("preparedStatements: false"));
    expect(named.length).toBeGreaterThan(0);
    expect(named.length).toBeLessThanOrEqual(2);
    await Promise.all(databases.map((db) => db.close()));
  });

  it("A statement name that is taken fails the transaction with an error that names the option, and retry repeats it", async () => {
    const text = "select 'in a transaction' as answer";
    // Takes the name on every session that the pooler has.
    const others = await Promise.all(
      Array.from({ length: 3 }, () => openDatabase({ url, poolSize: 1, preparedStatements: false })),
    );
    // A transaction keeps its session, so three that are open together have one each.
    let ready = 0;
    const takeName = (db: Database) =>
      db.transaction(async (tx) => {
        await tx.execute(`do $$ begin execute 'prepare "${statementName(text)}" as ${text.replaceAll("'", "''")}';
          exception when duplicate_prepared_statement then null; end $$`);
        ready++;
        await vi.waitFor(() => expect(ready).toBe(others.length), { timeout: 10_000 });
      });
    await Promise.all(others.map(takeName));
    await Promise.all(others.map((db) => db.close()));

    const db = await openDatabase({ url, poolSize: 1 });
    const run = () => db.transaction((tx) => tx.fetchval(text));
    const error = await run().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OperationalError);
    expect((error as OperationalError).sqlstate).toBe("42P05");
    expect((error as Error).message).toContain("preparedStatements: false");
    expect(await run()).toBe("in a transaction");
    await db.close();

    const retrying = await openDatabase({ url, poolSize: 1 });
    expect(await retrying.transaction((tx) => tx.fetchval(text), { retry: 1 })).toBe("in a transaction");
    await retrying.close();
  });
});
