import { beforeEach, expect, it } from "vitest";
import { count, F, FieldError, field, Model, softDelete, sum } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Shelf extends Model("un_shelves", { id: field.auto(), name: field.text() }) {}
class Item extends Model("un_items", {
  id: field.auto(),
  title: field.text(),
  size: field.int({ null: true }),
  shelf: field.foreignKey(() => Shelf),
}) {}
class Draft extends Model("un_drafts", { id: field.auto(), ...softDelete() }) {}

const models = [Shelf, Item, Draft];

describeDatabases("unions", service("postgres"), models, (db) => {
  beforeEach(async () => {
    await truncate(db(), models);
    const shelf = await Shelf.objects.create({ name: "left" });
    const sizes = [1, 2, null, 4, 5];
    await Item.objects.bulkCreate(sizes.map((size, at) => ({ title: `t${at + 1}`, size, shelf })));
  });

  const items = (...ids: number[]) => Item.objects.filter({ id__in: ids });
  const idsOf = async (rows: PromiseLike<readonly Item[]>): Promise<number[]> =>
    (await rows).map((row) => row.id).sort();

  it("A union of unions has the rows of all of them", async () => {
    expect(await idsOf(items(1).union(items(2)).union(items(3)))).toEqual([1, 2, 3]);
    expect(await idsOf(items(1).union(items(2).union(items(3))))).toEqual([1, 2, 3]);
    expect(await idsOf(items(1, 2, 3).difference(items(1, 2).intersection(items(2, 3))))).toEqual([1, 3]);
    expect(await items(1).union(items(2)).union(items(3)).count()).toBe(3);
    expect(await items(8).union(items(9)).union(items(7)).exists()).toBe(false);
  });

  it("A union made empty by none() has no rows, also inside of another one and for aggregates", async () => {
    const none = items(1).union(items(2)).none();
    expect(await idsOf(none.union(items(5)))).toEqual([5]);
    expect(await none.aggregate({ n: count("id") })).toEqual({ n: 0 });
  });

  it("A union inside of another one keeps its order and limit", async () => {
    const last = items(1).union(items(2), items(3)).orderBy("-id").limit(1);
    expect(await idsOf(last.union(items(5)))).toEqual([3, 5]);
  });

  it("Aggregates are computed over the rows of the union, after its limit", async () => {
    const twice = items(1, 2).union(items(2, 4));
    expect(await twice.aggregate({ n: count(), s: sum("size") })).toEqual({ n: 3, s: 7 });
    expect(
      await items(1)
        .union(items(2))
        .union(items(4))
        .aggregate({ s: sum("size") }),
    ).toEqual({ s: 7 });
    expect(
      await twice
        .orderBy("-id")
        .limit(2)
        .aggregate({ s: sum("id") }),
    ).toEqual({ s: 6 });
    expect(await twice.aggregate({ n: count("shelf__name") })).toEqual({ n: 3 });
  });

  it("Aggregates over a union of values are over these values", async () => {
    const shelves = items(1, 2).values("shelf").union(items(4).values("shelf"));
    expect(await shelves.aggregate({ n: count() })).toEqual({ n: 1 });
    const sizes = items(1, 2).values("size").unionAll(items(4).values("size"));
    expect(await sizes.aggregate({ n: count(), s: sum("size") })).toEqual({ n: 3, s: 7 });
    expect(
      await sizes
        .orderBy("-size")
        .limit(2)
        .aggregate({ s: sum("size") }),
    ).toEqual({ s: 6 });
  });

  it("The order of a union can be reversed, with the place of nulls", async () => {
    const all = items(1, 2).union(items(3, 4));
    const sizes = async (rows: PromiseLike<readonly Item[]>): Promise<(number | null)[]> =>
      (await rows).map((row) => row.size);
    expect(await sizes(all.orderBy(F("size").desc({ nulls: "last" })))).toEqual([4, 2, 1, null]);
    expect(await sizes(all.orderBy(F("size").desc({ nulls: "last" })).reverse())).toEqual([null, 1, 2, 4]);
    expect((await all.last())?.id).toBe(4);
    expect((await all.orderBy("-id").last())?.id).toBe(1);
  });

  it("A union can be ordered by the key of a relation and by an annotation", async () => {
    const negative = (rows: ReturnType<typeof items>) => rows.annotate({ back: F("id").times(-1) });
    const ordered = negative(items(1, 2))
      .union(negative(items(3)))
      .orderBy("shelfId", "back");
    expect((await ordered).map((row) => row.id)).toEqual([3, 2, 1]);
    expect(() => items(1).union(items(2)).orderBy("shelf__name").toSql()).toThrow(
      "a union can only be ordered by one of id, title, size, shelf, shelfId",
    );
  });

  it("An iterator reads the columns of related rows of a union apart from its own", async () => {
    const rows = items(1).selectRelated("shelf").union(items(3).selectRelated("shelf")).orderBy("-id");
    const read: unknown[] = [];
    await db().transaction(async (tx) => {
      for await (const row of rows.using(tx).iterator()) read.push([row.id, row.shelf.id, row.shelf.name]);
    });
    expect(read).toEqual([
      [3, 1, "left"],
      [1, 1, "left"],
    ]);
  });

  it("Calls that would have no effect on a union are refused", async () => {
    const both = items(1).unionAll(items(1));
    const calls: readonly [name: string, call: () => unknown][] = [
      ["values()", () => both.values("id")],
      ["distinct()", () => both.distinct()],
      ["selectRelated()", () => both.selectRelated("shelf")],
      ["only()", () => both.only("id")],
      ["defer()", () => both.defer("title")],
      ["forUpdate()", () => both.forUpdate()],
      ["inTimeZone()", () => both.inTimeZone("UTC")],
      ["withDeleted()", () => Draft.objects.union(Draft.objects).withDeleted()],
      ["onlyDeleted()", () => Draft.objects.union(Draft.objects).onlyDeleted()],
    ];
    for (const [name, call] of calls) expect(call).toThrow(`${name} cannot follow a union: call it on the parts`);
    await expect(both.inBulk([1])).rejects.toThrow(FieldError);
    await expect(items(1, 2).limit(1).inBulk([2])).rejects.toThrow(
      "inBulk() cannot follow a union, distinct(), a limit or an offset",
    );
  });

  it("Relations can be prefetched for the rows of a union", async () => {
    const rows = await items(1).union(items(2)).prefetchRelated("shelf");
    expect(rows.map((row) => row.shelf.name)).toEqual(["left", "left"]);
  });
});
