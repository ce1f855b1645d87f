import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database, Transaction } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { service } from "../../support/service.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";
const insert = "insert into beginnings (n) values ($1) returning n";

describe.skipIf(server === "")("the beginning of a transaction", () => {
  let proxy: FaultProxy;
  let db: Database;
  let requests: string[];

  beforeEach(async () => {
    proxy = await FaultProxy.start(server);
    db = await openDatabase({ url: proxy.through(server), sslmode: "disable", poolSize: 1 });
    await db.execute("drop table if exists beginnings");
    await db.execute("create table beginnings (n int primary key)");
    // Known to the session from here on.
    await db.fetchval(insert, [0]);
    requests = [];
    proxy.changeRequest = (chunk) => {
      requests.push(chunk.toString("latin1"));
      return chunk;
    };
  });

  afterEach(async () => {
    proxy.changeRequest = null;
    await db.execute("drop table beginnings");
    await db.close();
    await proxy.close();
  });

  const stored = (): Promise<number[]> => db.fetch("select n from beginnings order by n").then((rows) => rows.map(nOf));
  const nOf = (row: object): number => (row as { n: number }).n;
  const add = (tx: Transaction, n: number): Promise<unknown> => tx.fetchval(insert, [n]);

  it("A transaction begins together with its first statement", async () => {
    await db.transaction(async (tx) => {
      await add(tx, 1);
      await add(tx, 2);
    });
    expect(requests.map((text) => [text.includes("begin"), text.includes("commit")])).toEqual([
      [true, false],
      [false, false],
      [false, true],
    ]);
    expect(await stored()).toEqual([0, 1, 2]);
  });

  it("Statements that are sent at once belong to the transaction, in their order", async () => {
    const failed = db.transaction(async (tx) => {
      const all = [
        add(tx, 1),
        tx.transaction((inner) => add(inner, 2)),
        add(tx, 3),
        tx.fetchval("select count(*) from beginnings"),
      ];
      expect(await Promise.all(all)).toEqual([1, 2, 3, expect.anything()]);
      await add(tx, 1);
    });
    await expect(failed).rejects.toMatchObject({ sqlstate: "23505" });
    expect(await stored()).toEqual([0]);
  });

  it("If the first statement fails, nothing of the transaction is stored", async () => {
    const outcome = db.transaction((tx) => Promise.allSettled([add(tx, 0), add(tx, 1)]));
    await expect(outcome).rejects.toThrow("rolled back");
    expect(await stored()).toEqual([0]);
  });

  it("If the beginning fails, no statement is run, and the connection can be used", async () => {
    proxy.changeRequest = (chunk) => Buffer.from(chunk.toString("latin1").replace("begin", "bogus"), "latin1");
    let outcomes: PromiseSettledResult<unknown>[] = [];
    const failed = db.transaction(async (tx) => {
      outcomes = await Promise.allSettled([add(tx, 1), add(tx, 2)]);
      outcomes.push(...(await Promise.allSettled([add(tx, 3)])));
    });
    await expect(failed).rejects.toThrow();
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    proxy.changeRequest = null;
    expect(await stored()).toEqual([0]);
    await db.transaction((tx) => add(tx, 4));
    expect(await stored()).toEqual([0, 4]);
  });

  it("A transaction without statements sends nothing, and runs its hooks", async () => {
    let committed = 0;
    await db.transaction((tx) => tx.onCommit(() => committed++));
    expect([requests, committed]).toEqual([[], 1]);
  });

  it("A transaction whose first statement is new to the session begins before it", async () => {
    const text = "insert into beginnings (n) values ($1), ($1 + 1)";
    const failed = db.transaction(async (tx) => {
      await Promise.all([tx.execute(text, [1]), add(tx, 5)]);
      throw new Error("given up");
    });
    await expect(failed).rejects.toThrow("given up");
    expect(await stored()).toEqual([0]);
  });
});
