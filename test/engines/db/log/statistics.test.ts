import { describe, expect, it } from "vitest";
import { queriesPanel } from "../../../../src/engines/db/log/panel.js";
import type { QueryEntry } from "../../../../src/engines/db/log/query-log.js";
import { StatementTally } from "../../../../src/engines/db/log/statement-tally.js";
import { QueryStatistics } from "../../../../src/engines/db/log/statistics.js";

function entry(statement: string, ms: number, more: Partial<QueryEntry> = {}): QueryEntry {
  return { statement, ms, waitMs: 0, rows: 1, caller: "a.ts:1", route: "/", slow: false, error: null, ...more };
}

describe("the statements of a request", () => {
  it("A statement is repeated only if the same text comes from the same place often enough", () => {
    const tally = new StatementTally();
    for (let n = 0; n < 5; n++) tally.add(entry("select 1", 2), null);
    for (let n = 0; n < 6; n++) tally.add(entry("select 2", 1), 'prefetchRelated("x")');
    for (let n = 0; n < 4; n++) tally.add(entry("select 3", 1), null);
    for (let n = 0; n < 5; n++) tally.add(entry("select 4", 1, { caller: `b.ts:${n}` }), null);
    expect([tally.count, tally.ms]).toEqual([20, 25]);
    expect(tally.repeated(5)).toEqual([
      { statement: "select 2", times: 6, ms: 6, caller: "a.ts:1", cure: 'prefetchRelated("x")' },
      { statement: "select 1", times: 5, ms: 10, caller: "a.ts:1", cure: expect.stringContaining("inBulk()") },
    ]);
  });

  it.each([
    ["INSERT INTO a VALUES ($1)", "bulkCreate()"],
    ["update a set b = $1", "bulkUpdate()"],
    [" delete from a", "delete()"],
    ["select 1", "prefetchRelated()"],
    ["", "prefetchRelated()"],
  ])("The advice for the repeated statement %j names %s", (statement, advice) => {
    const tally = new StatementTally();
    tally.add(entry(statement, 1), null);
    expect(tally.repeated(1)[0]!.cure).toContain(advice);
  });

  it("A request with very many different statements is counted, and only some of them are told apart", () => {
    const tally = new StatementTally();
    for (let n = 0; n < 2000; n++) tally.add(entry(`select ${n}`, 1), null);
    expect(tally.count).toBe(2000);
    expect(tally.repeated(1)).toHaveLength(500);
  });
});

describe("the statements of the live page", () => {
  it("The slowest statements are kept once each, in order, and are bounded", () => {
    const statistics = new QueryStatistics();
    for (let n = 1; n <= 100; n++) statistics.ended(entry(`select ${n}`, n));
    statistics.ended(entry("select 100", 50));
    statistics.ended(entry("select 100", 500));
    statistics.ended(entry("select 99", 1, { slow: true, error: "DataError" }));
    expect(statistics.slowest()).toHaveLength(20);
    expect(
      statistics
        .slowest()
        .slice(0, 3)
        .map(({ statement, ms }) => [statement, ms]),
    ).toEqual([
      ["select 100", 500],
      ["select 99", 99],
      ["select 98", 98],
    ]);
    expect([statistics.statements, statistics.slow, statistics.failed]).toEqual([103, 1, 1]);
  });

  it("Routes have the number of their requests and statements, and the largest of them", () => {
    const statistics = new QueryStatistics();
    statistics.requestEnded("/a", 2, 10, []);
    statistics.requestEnded("/a", 4, 20, []);
    statistics.requestEnded(null, 9, 1, []);
    expect(statistics.routes()).toEqual([
      { route: "no route", requests: 1, statements: 9, most: 9, ms: 1 },
      { route: "/a", requests: 2, statements: 6, most: 4, ms: 30 },
    ]);
    const [, table] = queriesPanel(statistics).tables!;
    expect(table!.rows[1]).toEqual(["/a", 2, 3, 4, 15]);
  });

  it("The numbers of routes and of repeated statements are bounded, and the latest are shown first", () => {
    const statistics = new QueryStatistics();
    for (let n = 0; n < 1000; n++) {
      const repeated = { statement: "select 1", times: 5, ms: 1, caller: null, cure: "none" };
      statistics.requestEnded(`/${n}`, 5, 1, [repeated, repeated]);
    }
    expect(statistics.routes()).toHaveLength(500);
    expect(statistics.repeated()).toHaveLength(50);
    expect(statistics.repeated()[0]).toMatchObject({ route: "/999" });
  });

  it("The panel colours its numbers only if there is something to see", () => {
    const statistics = new QueryStatistics();
    expect(queriesPanel(statistics).facts!.map(({ tone }) => tone)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    statistics.ended(entry("select 1", 1, { slow: true, error: "DataError" }));
    statistics.requestEnded("/", 5, 1, [{ statement: "s", times: 5, ms: 1, caller: null, cure: "c" }]);
    expect(queriesPanel(statistics).facts!.map(({ tone }) => tone)).toEqual([undefined, "warning", "bad", "bad"]);
  });
});
