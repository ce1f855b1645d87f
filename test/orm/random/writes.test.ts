import { beforeAll, expect, it } from "vitest";
import type { Queries } from "../../../src/engines/db/database.js";
import { DatabaseError } from "../../../src/engines/db/errors.js";
import { service } from "../../support/service.js";
import { describeDatabases } from "../databases.js";
import { differences, evaluated, plain, refused, seeds } from "./compared.js";
import { Random } from "./seeded.js";
import { contents, models } from "./shop.js";
import { everything, type Write, writes } from "./writes.js";

class RolledBack extends Error {}

describeDatabases("random writes", service("postgres"), models, (db) => {
  beforeAll(() => db().script(contents));

  /** Runs work in a transaction that is rolled back, and then says what all tables contained. */
  const contentsAfter = async (work: (tx: Queries) => Promise<void>): Promise<unknown> => {
    let rows: unknown;
    const rolledBack = db().transaction(async (tx) => {
      // New rows have the same numbers each time: sequences are not rolled back.
      await tx.execute("select setval(c.oid, 1000) from pg_class c where relkind = 'S'");
      await work(tx);
      rows = await tx.fetchval(everything);
      throw new RolledBack();
    });
    await rolledBack.catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
    return rows;
  };

  /** The result of a write, or the error of the database. A write that fails changes nothing. */
  const attempt = async (tx: Queries, work: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await tx.transaction(work);
    } catch (error) {
      // Of two violated constraints, either can be the first.
      if (error instanceof DatabaseError) return error.sqlstate?.slice(0, 2);
      throw error;
    }
  };

  const byHand = async (tx: Queries, { statements }: Write): Promise<unknown> => {
    let result: unknown;
    for (const statement of statements) {
      const rows = await tx.fetch<{ result?: unknown }>(statement);
      if (rows[0] !== undefined && "result" in rows[0]) result = rows[0].result;
    }
    return result;
  };

  const compare = async (seed: number): Promise<string | null> => {
    const list = writes(new Random(seed));
    const results: (readonly [given: unknown, right: unknown])[] = [];
    const isRefused: boolean[] = [];
    const given: unknown[] = [];
    const after = await contentsAfter(async (tx) => {
      for (const { code } of list) {
        const found = await attempt(tx, () => evaluated(code));
        isRefused.push(found === null);
        given.push(typeof found === "object" && found !== null ? plain((found as { value: unknown }).value) : found);
      }
    });
    const right = await contentsAfter(async (tx) => {
      for (const [index, write] of list.entries())
        results.push([given[index], isRefused[index] ? null : plain(await attempt(tx, () => byHand(tx, write)))]);
    });
    if (isRefused.every(Boolean)) return refused;
    const shown = (value: unknown): string => JSON.stringify(value);
    const code = list.map((write) => write.code).join("\n");
    for (const [one, two] of results)
      if (shown(one) !== shown(two)) return `${code}\nresults: ${shown(results)}\n${sqlOf(list)}`;
    return shown(after) === shown(right)
      ? null
      : `${code}\ngiven: ${shown(after)}\nright: ${shown(right)}\n${sqlOf(list)}`;
  };

  const sqlOf = (list: readonly Write[]): string => list.flatMap(({ statements }) => statements).join(";\n");

  it("Tables contain what statements written by hand make of them", async () => {
    const all = seeds(150, 1500);
    const { found, compared } = await differences(all, 1, compare);
    expect(found.join("\n\n")).toBe("");
    expect(compared / all.length).toBeGreaterThan(0.8);
  });
});
