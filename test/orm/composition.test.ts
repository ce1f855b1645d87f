import { beforeEach, expect, it } from "vitest";
import { count, FieldError, field, Model, sum } from "../../src/entry/orm.js";
import fc from "../support/properties.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Item extends Model(
  "items",
  { id: field.auto(), kind: field.int(), size: field.int({ null: true }), name: field.text() },
  { ordering: ["name"] },
) {}

type Out = Readonly<Record<string, number | string | null>>;

/** The rows of a chain of calls so far, as a reader of the code expects them: each call works on the rows before it. */
interface Rows {
  readonly list: readonly Out[];
  readonly shape: "models" | "values" | "groups";
  readonly distinct: boolean;
}

/** The methods of a queryset, without their types: the chains are random. */
interface Chain extends PromiseLike<readonly Out[]> {
  filter(condition: object): Chain;
  orderBy(...keys: string[]): Chain;
  reverse(): Chain;
  limit(count: number): Chain;
  offset(count: number): Chain;
  distinct(...fields: string[]): Chain;
  values(...fields: string[]): Chain;
  annotate(values: object): Chain;
  union(other: Chain): Chain;
  aggregate(values: object): Promise<Out>;
  count(): Promise<number>;
  exists(): Promise<boolean>;
  first(): Promise<Out | null>;
  update(values: object): PromiseLike<number>;
  delete(): PromiseLike<number>;
  json(): Promise<{ value(): unknown }>;
}

const compare = (a: Out, b: Out, keys: readonly string[]): number => {
  for (const key of keys) {
    const name = key.replace(/^-/, "");
    const [x, y] = [a[name] ?? null, b[name] ?? null];
    if (x === y) continue;
    // PostgreSQL puts nulls last, and first in a descending order.
    const order = x === null ? 1 : y === null ? -1 : x < y ? -1 : 1;
    return key.startsWith("-") ? -order : order;
  }
  return 0;
};

const names = (rows: Rows): string[] => Object.keys(rows.list[0] ?? {});
const unique = (list: readonly Out[]): Out[] => [...new Map(list.map((row) => [JSON.stringify(row), row])).values()];
const pick = (row: Out, fields: readonly string[]): Out => Object.fromEntries(fields.map((name) => [name, row[name]!]));

const integer = fc.integer({ min: 0, max: 4 });
const step = fc.oneof(
  fc.record({ type: fc.constant("filter" as const), kind: integer }),
  fc.record({
    type: fc.constant("order" as const),
    descending: fc.boolean(),
    by: fc.constantFrom("kind", "name", "size"),
  }),
  fc.record({ type: fc.constant("limit" as const), limit: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ type: fc.constant("range" as const), limit: fc.integer({ min: 1, max: 12 }), offset: integer }),
  fc.record({ type: fc.constant("reverse" as const) }),
  fc.record({ type: fc.constant("distinct" as const) }),
  fc.record({ type: fc.constant("firsts" as const) }),
  fc.record({
    type: fc.constant("values" as const),
    fields: fc.constantFrom(["kind"], ["kind", "size"], ["size"], ["n"], ["kind", "n"]),
  }),
  fc.record({ type: fc.constant("group" as const) }),
  fc.record({ type: fc.constant("union" as const), kind: integer }),
);

type Call = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** All fields of the rows, so that their order is total. */
const total = (rows: Rows): string[] => (rows.shape === "models" ? ["id"] : names(rows));

/** The rows after a call; null if the call has no meaning for them, as a field that they do not have. */
function after(call: Call, rows: Rows, all: readonly Out[]): Rows | null {
  const { list } = rows;
  const has = (name: string): boolean => names(rows).includes(name);
  switch (call.type) {
    case "filter":
      return has("kind") ? { ...rows, list: list.filter((row) => Number(row["kind"]) >= call.kind) } : null;
    case "order": {
      if (!has(call.by)) return null;
      const keys = [call.descending ? `-${call.by}` : call.by, ...total(rows)];
      return { ...rows, list: list.toSorted((a, b) => compare(a, b, keys)) };
    }
    case "limit":
      return { ...rows, list: list.slice(0, call.limit) };
    case "range":
      return { ...rows, list: list.slice(call.offset, call.offset + call.limit) };
    case "reverse":
      return { ...rows, list: list.toReversed() };
    case "distinct":
      return { ...rows, list: unique(list), distinct: true };
    case "firsts": {
      if (rows.shape !== "models") return null;
      const sorted = list.toSorted((a, b) => compare(a, b, ["kind", "-id"]));
      return {
        ...rows,
        list: [...new Map(sorted.toReversed().map((row) => [row["kind"], row])).values()].toReversed(),
      };
    }
    case "values":
      return call.fields.every(has)
        ? {
            ...rows,
            list: list.map((row) => pick(row, call.fields)),
            shape: rows.shape === "models" ? "values" : rows.shape,
          }
        : null;
    case "group": {
      if (rows.shape !== "models") return null;
      const groups = new Map<number, number>();
      for (const { kind } of list) groups.set(kind as number, (groups.get(kind as number) ?? 0) + 1);
      return {
        list: [...groups].map(([kind, n]) => ({ kind, n })),
        shape: "groups",
        distinct: false,
      };
    }
    case "union":
      if (rows.shape !== "models") return null;
      return { ...rows, list: unique([...list, ...all.filter((row) => row["kind"] === call.kind)]), distinct: true };
  }
}

function apply(call: Call, chain: Chain, rows: Rows): Chain {
  switch (call.type) {
    case "filter":
      return chain.filter({ kind__gte: call.kind });
    case "order":
      return chain.orderBy(call.descending ? `-${call.by}` : call.by, ...total(rows));
    case "limit":
      return chain.limit(call.limit);
    case "range":
      return chain.offset(call.offset).limit(call.limit);
    case "reverse":
      return chain.reverse();
    case "distinct":
      return chain.distinct();
    case "firsts":
      return chain.orderBy("kind", "-id").distinct("kind");
    case "values":
      return chain.values(...call.fields);
    case "group":
      return chain.values("kind").annotate({ n: count("id") });
    case "union":
      return chain.union((Item.objects as unknown as Chain).filter({ kind: call.kind }).orderBy());
  }
}

const plain = (rows: readonly unknown[]): Out[] => JSON.parse(JSON.stringify(rows)) as Out[];

describeDatabases("calls in any order", service("postgres"), [Item], (db) => {
  let all: Out[];
  const objects = Item.objects as unknown as Chain;

  const seed = async (): Promise<void> => {
    await truncate(db(), [Item]);
    // Names are unique: the order of the model is total.
    await Item.objects.bulkCreate(
      Array.from({ length: 25 }, (_, i) => ({
        kind: (i * 7) % 5,
        size: i % 6 === 0 ? null : (i * 3) % 4,
        name: `name ${String((i * 11) % 25).padStart(2, "0")}`,
      })),
    );
    all = plain(await Item.objects.orderBy("name"));
  };
  beforeEach(seed);

  /** Builds a chain and its rows. Undefined if a call is refused or has no meaning. */
  const build = (calls: readonly Call[]): { chain: Chain; rows: Rows; isOrdered: boolean } | undefined => {
    let rows: Rows = { list: all, shape: "models", distinct: false };
    let chain = objects;
    let isOrdered = true;
    let isLimited = false;
    for (const call of calls) {
      // limit() and offset() are one clause, in either order.
      if (call.type === "range" && isLimited) return undefined;
      isLimited = call.type === "limit" || call.type === "range" || (isLimited && call.type === "values");
      if (rows.list.length === 0) return undefined;
      // Which rows a limit keeps is only known in an order.
      if (!isOrdered && (call.type === "limit" || call.type === "range" || call.type === "reverse")) return undefined;
      const next = after(call, rows, all);
      if (next === null) return undefined;
      try {
        chain = apply(call, chain, rows);
      } catch (error) {
        if (error instanceof FieldError) return undefined;
        throw error;
      }
      isOrdered =
        call.type === "order" ||
        call.type === "firsts" ||
        (isOrdered && !["values", "group", "union", "distinct"].includes(call.type));
      if (call.type === "values" && rows.shape === "models" && !rows.distinct) isOrdered = false;
      rows = next;
    }
    return { chain, rows, isOrdered };
  };

  const refusedOr = async <T>(promise: PromiseLike<T>): Promise<T | "refused"> => {
    try {
      return await promise;
    } catch (error) {
      if (error instanceof FieldError) return "refused";
      throw error;
    }
  };

  const sorted = (list: readonly Out[]): string[] => list.map((row) => JSON.stringify(row)).toSorted();

  it("A chain of calls gives the rows of each call on the rows before it, or is refused", async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (calls) => {
        const built = build(calls);
        if (built === undefined) return;
        const { chain, rows, isOrdered } = built;
        const found = await refusedOr(chain);
        if (found === "refused") return;
        compared++;
        if (isOrdered) expect(plain(found)).toEqual(rows.list);
        else expect(sorted(plain(found))).toEqual(sorted(rows.list));
        expect(await refusedOr(chain.count())).toBe(rows.list.length);
        expect(await refusedOr(chain.exists())).toBe(rows.list.length > 0);
        expect(sorted(plain((await chain.json()).value() as unknown[]))).toEqual(sorted(rows.list));
        const [name] = names(rows).filter((each) => each !== "name");
        if (name === undefined) return;
        const totals = await refusedOr(chain.aggregate({ n: count(name), total: sum(name as "size") }));
        if (totals === "refused") return;
        const numbers = rows.list.map((row) => row[name]!).filter((value) => value !== null) as number[];
        const expected = numbers.length === 0 ? null : numbers.reduce((a, b) => a + b, 0);
        expect([totals["n"], totals["total"] === null ? null : Number(totals["total"])]).toEqual([
          numbers.length,
          expected,
        ]);
      }),
      { numRuns: 400 },
    );
    expect(compared).toBeGreaterThan(100);
  });

  it("A write after a chain of calls changes exactly the rows of the chain, or is refused", async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), fc.boolean(), async (calls, deletes) => {
        const built = build(calls);
        if (built === undefined) return;
        const { chain, rows } = built;
        const written = await refusedOr(deletes ? chain.delete() : chain.update({ size: 99 }));
        const now = plain(await Item.objects.orderBy("name"));
        if (written === "refused") {
          expect(now).toEqual(all);
          return;
        }
        compared++;
        expect(rows.shape).toBe("models");
        const ids = new Set(rows.list.map((row) => row["id"]));
        expect(written).toBe(ids.size);
        if (deletes) expect(now).toEqual(all.filter((row) => !ids.has(row["id"]!)));
        else expect(now).toEqual(all.map((row) => (ids.has(row["id"]!) ? { ...row, size: 99 } : row)));
        await seed();
      }),
      { numRuns: 150 },
    );
    expect(compared).toBeGreaterThan(30);
  });

  it("A second values() keeps the groups", async () => {
    const groups = Item.objects.values("kind").annotate({ n: count("id") });
    expect(await groups.values("n")).toEqual(Array(5).fill({ n: 5 }));
    expect(await groups.orderBy("kind").flat("kind")).toEqual([0, 1, 2, 3, 4]);
    expect(await groups.valuesList("n", "kind").orderBy("kind").limit(1)).toEqual([[5, 0]]);
    expect(await groups.values("n").count()).toBe(5);
    expect(() => groups.values("name" as "n")).toThrow(FieldError);
  });

  it("limit() and offset() are one clause, and a second limit() keeps the smaller one", async () => {
    const ids = Item.objects.orderBy("id").flat("id");
    expect(await ids.limit(3).offset(2)).toEqual([3, 4, 5]);
    expect(await ids.offset(2).limit(3)).toEqual([3, 4, 5]);
    expect(await ids.limit(3).limit(10)).toEqual([1, 2, 3]);
    expect(await ids.limit(10).limit(3)).toEqual([1, 2, 3]);
    expect(() => ids.offset(2).offset(3)).toThrow(FieldError);
  });

  it("An order after a limit orders the rows of the limit", async () => {
    const newest = Item.objects.orderBy("-id").limit(3);
    expect(await newest.orderBy("id").flat("id")).toEqual([23, 24, 25]);
    expect(await newest.reverse().flat("id")).toEqual([23, 24, 25]);
    expect(await newest.reverse().limit(1).flat("id")).toEqual([23]);
    expect((await newest.reverse().first())?.id).toBe(23);
    expect(await newest.orderBy("id").update({ size: 77 })).toBe(3);
    expect(await Item.objects.filter({ size: 77 }).orderBy("id").flat("id")).toEqual([23, 24, 25]);
  });

  it("Distinct values without the order of the model are as many as count() says", async () => {
    const kinds = Item.objects.values("kind").distinct();
    expect([await kinds.count(), (await kinds).length]).toEqual([5, 5]);
    expect(await kinds.aggregate({ n: count("kind"), total: sum("kind") })).toEqual({ n: 5, total: 10 });
    expect(
      await Item.objects
        .distinct()
        .limit(2)
        .aggregate({ n: count("id") }),
    ).toEqual({ n: 2 });
    await expect(kinds.orderBy("name").toArray()).rejects.toThrow(FieldError);
  });
});
