import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/engines/db/database.js";
import { UniqueViolation } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { DatabaseKeeper } from "../../../src/engines/db/pglite/database-keeper.js";
import { withLock } from "../../../src/migrations/lock.js";
import { compiled } from "../../support/compiled.js";

let folder: string;
let keeper: DatabaseKeeper;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-keeper-"));
  keeper = new DatabaseKeeper();
  await keeper.open(folder);
});
afterAll(async () => {
  await keeper.close();
  await rm(folder, { recursive: true, force: true });
});

async function withClients(run: (one: Database, other: Database) => Promise<void>): Promise<void> {
  const [one, other] = [await openDatabase(`pglite:${folder}`), await openDatabase(`pglite:${folder}`)];
  try {
    await run(one, other);
  } finally {
    await one.close();
    await other.close();
  }
}

describe("an embedded database that another process keeps open", () => {
  it("Clients share the rows, and their errors are those of the database", async () => {
    await withClients(async (one, other) => {
      await one.execute("create table shared (name text primary key, data jsonb, raw bytea)");
      const line = "caf\u00e9 \u2028 \n \ud83d\ude00";
      await one.execute("insert into shared values ($1, $2, $3)", [line, { a: [line] }, Buffer.from([0, 10, 255])]);
      expect(await other.fetchrow("select * from shared")).toEqual({
        name: line,
        data: { a: [line] },
        raw: Buffer.from([0, 10, 255]),
      });
      const twice = other.execute("insert into shared (name) values ($1)", [line]);
      await expect(twice).rejects.toBeInstanceOf(UniqueViolation);
      await expect(twice).rejects.toMatchObject({ sqlstate: "23505", message: expect.stringContaining("shared_pkey") });
    });
  });

  it("A transaction of one client is alone in the session: statements of others run before it or after it", async () => {
    await withClients(async (one, other) => {
      await one.execute("create table alone (n int)");
      let counted: Promise<unknown> | undefined;
      const failed = one.transaction(async (tx) => {
        await tx.execute("insert into alone values (1)");
        counted = other.fetchval("select count(*)::int from alone");
        for (let n = 2; n < 20; n++) await tx.execute("insert into alone values ($1)", [n]);
        throw new Error("no");
      });
      await expect(failed).rejects.toThrow("no");
      expect(await counted).toBe(0);
      await Promise.all([
        one.transaction((tx) => tx.execute("insert into alone values (1)")),
        other.transaction((tx) => tx.execute("insert into alone values (2)")),
      ]);
      expect(await one.fetchval("select count(*)::int from alone")).toBe(2);
    });
  });

  it("A session of one client is alone: settings and locks of it are not those of others", async () => {
    await withClients(async (one, other) => {
      let seen: Promise<unknown> | undefined;
      await one.session(async (session) => {
        await session.execute("set application_name = 'one'");
        expect(await session.fetchval("select pg_try_advisory_lock(1)")).toBe(true);
        seen = other.session((second) =>
          second.fetchrow("select current_setting('application_name') as name, pg_try_advisory_lock(1) as locked"),
        );
        for (let n = 0; n < 20; n++) expect(await session.fetchval("show application_name")).toBe("one");
      });
      expect(await seen).toEqual({ name: "", locked: true });
    });
  });

  it("Two runners of migrations take turns, and one that is killed leaves the session to the other", async () => {
    await withClients(async (one, other) => {
      const events: string[] = [];
      const options = { name: "m", timeoutMs: 60_000, signal: undefined };
      const runner = (database: Database, name: string): Promise<void> =>
        withLock(database, { ...options, onWait: () => events.push(`${name} waits`) }, async (session) => {
          events.push(`${name} begins`);
          await expect.poll(() => events).toContain("two waits");
          await session.fetchval("select 1");
          events.push(`${name} ends`);
        });
      await Promise.all([
        runner(one, "one"),
        expect
          .poll(() => events)
          .toContain("one begins")
          .then(() => runner(other, "two")),
      ]);
      const runs = events.filter((event) => !event.endsWith("waits"));
      expect(runs).toEqual(["one begins", "one ends", "two begins", "two ends"]);
    });
    const child = fork(compiled(join(import.meta.dirname, "fixtures/kept-client.ts")), [folder, "session"]);
    expect((await once(child, "message"))[0]).toBe("locked");
    const database = await openDatabase(`pglite:${folder}`);
    const next = database.session((session) =>
      session.fetchval("select count(*)::int from pg_locks where locktype = 'advisory'"),
    );
    child.kill("SIGKILL");
    expect(await next).toBe(0);
    await database.close();
  });

  it("Notifications reach all clients, also after one of them has closed", async () => {
    const heard: string[] = [];
    const other = await openDatabase(`pglite:${folder}`);
    await withClients(async (one) => {
      await one.listen("news", (payload) => void heard.push(`one ${payload}`));
      await other.listen("news", (payload) => void heard.push(`other ${payload}`));
      await other.execute("select pg_notify('news', 'first')");
      await expect.poll(() => [...heard].sort()).toEqual(["one first", "other first"]);
    });
    await other.execute("select pg_notify('news', 'second')");
    await expect.poll(() => heard).toContain("other second");
    await other.close();
  });

  it("The transaction of a client that is killed is rolled back, and the others go on", async () => {
    const database = await openDatabase(`pglite:${folder}`);
    await database.execute("create table killed (n int)");
    const child = fork(compiled(join(import.meta.dirname, "fixtures/kept-client.ts")), [folder]);
    expect((await once(child, "message"))[0]).toBe("inserted");
    const counted = database.fetchval("select count(*)::int from killed");
    child.kill("SIGKILL");
    expect(await counted).toBe(0);
    await database.close();
  });

  it("A client that sends no request is disconnected, and the others go on", async () => {
    await withClients(async (one) => {
      for (const line of ["no JSON\n", "null\n", "{}\n"]) {
        const client = connect(await keeper.open(folder)).resume();
        client.write(line);
        await once(client, "close");
      }
      expect(await one.fetchval("select 1")).toBe(1);
    });
  });

  it("The folder is free when its keeper has closed it", async () => {
    await keeper.close();
    const database = await openDatabase(`pglite:${folder}`);
    expect(await database.fetchval("select 1")).toBe(1);
    await expect(new DatabaseKeeper().open(folder)).rejects.toThrow("is in use by");
    await database.close();
  });
});
