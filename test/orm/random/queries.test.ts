import { beforeAll, expect, it } from "vitest";
import { service } from "../../support/service.js";
import { describeDatabases } from "../databases.js";
import { aggregation, chain, rowsSql } from "./chains.js";
import { differences, evaluated, plain, refused, seeds } from "./compared.js";
import { Random } from "./seeded.js";
import { contents, models } from "./shop.js";

const sorted = (rows: unknown): unknown => (rows as unknown[]).map((row) => JSON.stringify(row)).toSorted();

describeDatabases("random queries", service("postgres"), models, (db) => {
  beforeAll(() => db().script(contents));

  const byHand = async (sql: string): Promise<unknown[]> => {
    const found = await db().fetch<{ row: Record<string, unknown> }>(sql);
    return plain(found.map(({ row: { "#": _place, ...row } }) => row)) as unknown[];
  };

  /** Everything that a chain can be asked for. The rows of a chain without an order may come in any. */
  const compare = async (seed: number): Promise<string | null> => {
    const random = new Random(seed);
    const rows = chain(random, 6);
    const totals = aggregation(random, rows);
    const found = await evaluated(rows.code);
    if (found === null) return refused;
    const wanted = await byHand(rowsSql(rows));
    const form = rows.order === null ? sorted : (list: unknown) => list;
    const asked: [code: string, read: (value: unknown) => unknown, wanted: unknown][] = [
      [rows.code, form, form(wanted)],
      [`${rows.code}.count()`, (value) => value, wanted.length],
      [`${rows.code}.exists()`, (value) => value, wanted.length > 0],
      [`${rows.code}.json().then((json) => json.value())`, form, form(wanted)],
      [`allOf(${rows.code}.iterator())`, form, form(wanted)],
      [totals.code, (value) => value, (await byHand(totals.sql))[0]],
    ];
    if (rows.order !== null && rows.isTotal) asked.push([`${rows.code}.first()`, (value) => value, wanted[0] ?? null]);
    for (const [code, read, expected] of asked) {
      const result = code === rows.code ? found : await evaluated(code);
      if (result === null) continue;
      const [given, right] = [JSON.stringify(read(plain(result.value))), JSON.stringify(expected)];
      if (given !== right) return `${code}\ngiven: ${given}\nright: ${right}\n${rowsSql(rows)}`;
    }
    return null;
  };

  it("Rows, their number, JSON and aggregates are those of SQL written by hand", async () => {
    const all = seeds(300, 2000);
    const { found, compared } = await differences(all, 4, compare);
    expect(found.join("\n\n")).toBe("");
    expect(compared / all.length).toBeGreaterThan(0.5);
  });
});
