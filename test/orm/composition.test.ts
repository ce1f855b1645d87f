import { beforeEach, expect, it } from "vitest";
import { count, FieldError, field, Model, sum } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Item extends Model(
  "items",
  { id: field.auto(), kind: field.int(), size: field.int({ null: true }), name: field.text() },
  { ordering: ["name"] },
) {}

describeDatabases("calls in any order", service("postgres"), [Item], (db) => {
  beforeEach(async () => {
    await truncate(db(), [Item]);
    // Names are unique: the order of the model is total.
    await Item.objects.bulkCreate(
      Array.from({ length: 25 }, (_, i) => ({
        kind: (i * 7) % 5,
        size: i % 6 === 0 ? null : (i * 3) % 4,
        name: `name ${String((i * 11) % 25).padStart(2, "0")}`,
      })),
    );
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
