import { describe, expect, it } from "vitest";
import { OperationalError } from "../../../../src/engines/db/errors.js";
import { faultOf } from "../../../../src/engines/db/replicas/fallback.js";
import { Positions, readPosition } from "../../../../src/engines/db/replicas/position.js";
import { Statements } from "../../../../src/engines/db/statements.js";

describe("positions in the log of the primary", () => {
  it("A position is read from PostgreSQL's form", () => {
    expect(readPosition("0/0")).toBe(0n);
    expect(readPosition("16/B374D848")).toBe(0x16_b374d848n);
    expect(readPosition("16/b374d848")).toBe(0x16_b374d848n);
  });

  it.each(["", "16", "/1", "1/", "1/2/3", "123456789/0", "0x1/2", " 1/2", null, undefined, 5])(
    "The value %j is not a position",
    (text) => expect(readPosition(text)).toBeNull(),
  );

  it("The lag counts from the first place that a replica does not have", () => {
    const positions = new Positions();
    expect(positions.lagOf(0n, 5000)).toBe(0);
    positions.add(10n, 1000);
    positions.add(20n, 2000);
    positions.add(20n, 2500);
    expect([9n, 10n, 19n, 20n, 21n].map((replayed) => positions.lagOf(replayed, 5000))).toEqual([
      4000, 3000, 3000, 0, 0,
    ]);
  });

  it("Places that all replicas have are dropped, and the lag of the others stays", () => {
    const positions = new Positions();
    positions.add(10n, 1000);
    positions.add(20n, 2000);
    positions.add(30n, 3000);
    positions.forget(20n);
    expect(positions.lagOf(5n, 5000)).toBe(2000);
    positions.forget(99n);
    expect(positions.lagOf(5n, 5000)).toBe(2000);
  });

  it("Another primary with a shorter log starts over", () => {
    const positions = new Positions();
    positions.add(30n, 1000);
    positions.add(20n, 2000);
    expect(positions.lagOf(20n, 5000)).toBe(0);
    expect(positions.lagOf(19n, 5000)).toBe(3000);
  });

  it("The number of kept places is bounded, and the oldest count", () => {
    const positions = new Positions();
    for (let n = 1; n <= 5000; n++) positions.add(BigInt(n), n);
    expect(positions.lagOf(0n, 5000)).toBe(4999);
    expect(positions.lagOf(1000n, 5000)).toBe(0);
  });
});

describe("the fallback to the primary", () => {
  it.each([
    ["08006", "replica"],
    ["53300", "replica"],
    ["57P01", "replica"],
    ["25006", "statement"],
    ["0A000", "statement"],
    ["55000", "statement"],
    ["40001", "moment"],
    ["42P01", "moment"],
    ["57014", null],
    ["22012", null],
    ["42601", null],
  ])("An error with SQLSTATE %s on a replica is a fault of: %s", (sqlstate, fault) => {
    expect(faultOf(new OperationalError("failed", { sqlstate }))).toBe(fault);
  });

  it("Other errors stay with the caller", () => {
    expect(faultOf(new Error("failed"))).toBeNull();
    expect(faultOf(new OperationalError("failed"))).toBeNull();
  });
});

describe("statements for replicas", () => {
  const reads = (text: string): boolean => new Statements().get(text).reads;

  it.each([
    "select 1",
    "  (select a from b)",
    "with x as (select 1) select * from x",
    "values (1)",
    "table books",
    "select updated_at, into_it from books",
  ])("The statement %j may run on a replica", (text) => expect(reads(text)).toBe(true));

  it.each([
    "insert into a values (1)",
    "with x as (delete from a returning 1) select * from x",
    "select * from a for update",
    "select * from a for no key update",
    "select * from a for share",
    "select * into b from a",
    "select nextval('s')",
    "select pg_notify('a', 'b')",
    "select pg_advisory_lock(1)",
    "select set_config('a', 'b', false)",
    "explain select 1",
    "call f()",
    "do $$ begin end $$",
    "show all",
    "",
  ])("The statement %j runs on the primary", (text) => expect(reads(text)).toBe(false));

  it("A statement that a replica has refused runs on the primary", () => {
    const info = new Statements().get("select f()");
    info.needsPrimary = true;
    expect(info.reads).toBe(false);
  });
});
