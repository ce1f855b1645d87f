import { beforeAll, expect, it } from "vitest";
import { ParameterValueError } from "../../src/engines/db/errors.js";
import { sql } from "../../src/engines/db/sql/sql.js";
import {
  castTo,
  coalesce,
  count,
  F,
  field,
  type Manager,
  Model,
  max,
  type QuerySet,
  raw,
  rowNumber,
  sum,
  truncate,
} from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases } from "./databases.js";

class Team extends Model("teams", {
  id: field.auto(),
  name: field.text({ null: true }),
  get players() {
    return field.reverse(() => Player, "team");
  },
}) {
  declare static objects: Manager<Team>;
}

class Player extends Model("players", {
  id: field.auto(),
  name: field.char({ maxLength: 3, null: true }),
  score: field.int({ null: true }),
  weight: field.float({ null: true }),
  seen: field.datetime({ precision: 6, null: true }),
  exact: field.datetime({ precision: 6 }),
  kind: field.enum(["a", "b"], { null: true }),
  team: field.foreignKey(() => Team, { null: true }),
}) {
  declare static objects: Manager<Player>;
}

const models = [Team, Player];
const people = Player.objects;

/** Reads all pages in one direction. */
async function pagesOf<M, Row, A>(
  rows: QuerySet<M, Row, A>,
  size: number,
  backward: boolean,
  start?: string | null,
): Promise<Row[]> {
  const seen: Row[] = [];
  let cursor: string | null | undefined = start;
  for (let pages = 0; pages < 100; pages++) {
    const page = await rows.keyset(backward ? { size, before: cursor } : { size, after: cursor });
    if (backward) seen.unshift(...page.items);
    else seen.push(...page.items);
    cursor = backward ? page.previous : page.next;
    if (cursor === null) return seen;
  }
  return expect.unreachable("the pages do not end");
}

/** Expects the pages, forward and backward, to hold all rows in the order of the query. */
async function expectAllPages<M, Row, A>(rows: QuerySet<M, Row, A>, expected: readonly unknown[]): Promise<void> {
  const keyOf = (row: Row): unknown => (row as { id?: unknown; name?: unknown }).id ?? row;
  expect(expected.length).toBeGreaterThan(3);
  for (const size of [1, 3, 100]) expect((await pagesOf(rows, size, false)).map(keyOf)).toEqual(expected);
  // From the last row backward: the rows before it.
  let last: string | null = null;
  let cursor: string | null | undefined;
  do {
    const page: { next: string | null; previous: string | null } = await rows.keyset({ size: 3, after: cursor });
    last = page.previous ?? last;
    cursor = page.next;
  } while (cursor !== null);
  const before = await pagesOf(rows, 2, true, last);
  expect(before.map(keyOf)).toEqual(expected.slice(0, before.length));
  expect(before.length).toBeGreaterThanOrEqual(expected.length - 3);
}

describeDatabases("pages by key", service("postgres"), models, (db) => {
  beforeAll(async () => {
    await Team.objects.bulkCreate([{ name: "red" }, { name: null }, { name: "blue" }]);
    const names = [null, "x", "y", null, "x", "z", "é"];
    await people.bulkCreate(
      Array.from({ length: 14 }, (_, i) => ({
        name: names[i % 7]!,
        score: i % 3 === 0 ? null : i % 4,
        weight: [null, 1.5, Number.POSITIVE_INFINITY, Number.NaN, 0.1][i % 5]!,
        kind: ([null, "a", "b"] as const)[i % 3]!,
        team: i % 4 === 0 ? null : 1 + (i % 3),
        exact: "2024-01-01T00:00:00Z",
      })),
    );
    await db().execute(
      "update players set seen = case when id % 3 = 0 then null else timestamptz '2024-01-31 12:00:00+00' + (id / 4) * interval '1 microsecond' end, exact = timestamptz '2024-01-31 12:00:00+00' + (id / 4) * interval '1 microsecond'",
    );
  });

  it.each([
    ["a field that may be null, ascending", people.orderBy("score", "id")],
    ["a field that may be null, descending", people.orderBy("-score", "id")],
    ["a field that may be null, in both directions at once", people.orderBy("-score", "name", "-id")],
    ["null first", people.orderBy(F("score").asc({ nulls: "first" }), "id")],
    ["null last in descending order", people.orderBy(F("score").desc({ nulls: "last" }), "-id")],
    ["the reverse of an order with null last", people.orderBy(F("name").asc({ nulls: "last" }), "id").reverse()],
    ["a float with NaN, infinity and null", people.orderBy("-weight", "id")],
    ["an enum that may be null", people.orderBy("kind", "-id")],
    ["times with microseconds", people.orderBy("exact", "id")],
    ["times with microseconds that may be null", people.orderBy("-seen", "id")],
    ["a field of a related row", people.orderBy("team__name", "id")],
    ["a field of a related row, descending", people.orderBy("-team__name", "-id")],
    ["the key of a relation that may be null", people.orderBy("team", "id")],
    ["a part of a time", people.orderBy("seen__day", "-id")],
    ["a computed number", people.orderBy(F("score").times(-2).asc(), "id")],
    ["a computed value with parameters", people.orderBy(coalesce("score", 2).desc(), "id")],
    ["a truncated time", people.orderBy(truncate("day", "seen").desc(), "id")],
    ["an annotation", people.annotate({ rest: F("score").modulo(2) }).orderBy("-rest", "id")],
    [
      "a window function",
      people
        .annotate({ place: rowNumber().over({ partitionBy: ["team"], orderBy: ["id"] }) })
        .filter({ place__lte: 3 })
        .orderBy("place", "-id"),
    ],
    ["SQL with a cast", people.orderBy(castTo(raw<number>(sql`length(name)`), "int").desc(), "id")],
  ])("Pages by key hold all rows once, in order, by %s", async (_, rows) => {
    await expectAllPages(rows as QuerySet<Player>, await rows.flat("id"));
  });

  it("An order that is not unique is made unique by the primary key", async () => {
    for (const rows of [people.orderBy("score"), people.orderBy("-team__name"), people.orderBy("-kind")]) {
      const seen = await pagesOf(rows, 2, false);
      expect(new Set(seen.map(({ id }) => id)).size).toBe(14);
      expect(await pagesOf(rows, 5, false)).toEqual(seen);
    }
  });

  it("Aggregates of to-many relations order pages", async () => {
    await Team.objects.bulkCreate(Array.from({ length: 4 }, (_, i) => ({ name: `empty ${i}` })));
    const teams = Team.objects.annotate({ n: count("players"), best: max("players__score") });
    await expectAllPages(teams.orderBy("-n", "id"), await teams.orderBy("-n", "id").flat("id"));
    await expectAllPages(teams.orderBy("best", "-id"), await teams.orderBy("best", "-id").flat("id"));
  });

  it("Groups have pages, by their fields and by aggregates", async () => {
    const groups = people.values("name").annotate({ n: count(), total: sum("score") });
    for (const rows of [groups.orderBy("name"), groups.orderBy("-n", "name"), groups.orderBy("total")]) {
      const all = await pagesOf(rows, 100, false);
      expect(all).toHaveLength(5);
      expect(await pagesOf(rows, 2, false)).toEqual(all);
      expect(await rows).toHaveLength(5);
    }
    expect(await pagesOf(groups.orderBy("name"), 2, false)).toEqual(await groups.orderBy("name"));
  });

  it("Pages of plain values and of chosen fields need no key in their rows", async () => {
    const rows = people.orderBy("score", "id");
    const flat = await rows.flat("name");
    expect(await pagesOf(rows.flat("name"), 4, false)).toEqual(flat);
    const chosen = await pagesOf(rows.only("name"), 4, false);
    expect(chosen.map(({ name }) => name)).toEqual(flat);
    expect(Object.keys(chosen[0]!)).toEqual(["id", "name"]);
    const loaded = await people.selectRelated("team").orderBy("team__name", "id").keyset({ size: 2 });
    expect(loaded.items[0]!.team?.name).toBe("blue");
    expect(Object.keys(JSON.parse(JSON.stringify(loaded.items[0])))).toContain("team");
  });

  it("Cursors that were changed are refused as values of a client", async () => {
    const cursor = (...key: unknown[]): string => Buffer.from(JSON.stringify(key)).toString("base64url");
    const rows = people.orderBy("seen", "score");
    for (const after of [
      cursor("never", "1", "1"),
      cursor("2024-01-31", "one", "1"),
      cursor("2024-01-31", "99999999999999999999", "1"),
      cursor("2024-13-31", "1", "1"),
      cursor("2024-01-31", "1", null),
      cursor("2024-01-31", 1, "1"),
      cursor("2024-01-31", "1"),
      cursor("2024-01-31", "1'; drop table players; --", "1"),
      cursor("\u0000", "1", "1"),
      cursor(),
      "x",
    ])
      await expect(rows.keyset({ size: 1, after })).rejects.toThrow(ParameterValueError);
    expect(await people.count()).toBe(14);
  });

  it("Orders without pages are refused with the reason", async () => {
    await expect(people.orderBy(raw(sql`length(name)`)).keyset({ size: 1 })).rejects.toThrow(/castTo/);
    await expect(people.orderBy("?").keyset({ size: 1 })).rejects.toThrow(/castTo/);
    await expect(people.distinct().keyset({ size: 1 })).rejects.toThrow(/distinct/);
    await expect(people.union(people).keyset({ size: 1 })).rejects.toThrow(/unions/);
    await expect(people.limit(5).keyset({ size: 1 })).rejects.toThrow("a limited queryset has no pages");
    await expect(people.offset(1).keyset({ size: 1 })).rejects.toThrow("a limited queryset has no pages");
    await expect(Team.objects.values("players__name").keyset({ size: 1 })).rejects.toThrow(/to-many/);
  });
});
