import { beforeEach, expect, it } from "vitest";
import { ParameterTypeError } from "../../src/engines/db/errors.js";
import { excluded, F, FieldError, field, Model, test, unset } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Visit extends Model(
  "visits",
  {
    id: field.auto(),
    page: field.text(),
    count: field.int({ default: 1 }),
    closed: field.bool({ default: false }),
    seen: field.datetime({ autoNow: true }),
    settings: field.json<{ theme?: string; size?: number; deep?: { on?: boolean; list?: number[] } } | null>({
      null: true,
    }),
    anything: field.json({ default: {} }),
  },
  { indexes: [{ fields: ["page"], unique: true, where: "not closed" }] },
) {}

describeDatabases("writes of querysets", service("postgres"), [Visit], (db) => {
  beforeEach(() => truncate(db(), [Visit]));

  it("A conflict update computes with the row in the table and the row that was to be inserted", async () => {
    const rows = [
      { page: "a", count: 2 },
      { page: "b", count: 3 },
    ];
    for (let i = 0; i < 3; i++) {
      await Visit.objects.bulkCreate(rows, {
        onConflict: "update",
        conflictFields: ["page"],
        update: { count: F("count").plus(excluded("count")) },
      });
    }
    expect(await Visit.objects.orderBy("page").valuesList("page", "count")).toEqual([
      ["a", 6],
      ["b", 9],
    ]);
  });

  it("A partial unique index is found by its fields", async () => {
    await Visit.objects.create({ page: "a", closed: true });
    await Visit.objects.create({ page: "a", closed: true });
    for (let i = 0; i < 2; i++) {
      await Visit.objects.bulkCreate([{ page: "a" }], {
        onConflict: "update",
        conflictFields: ["page"],
        update: { count: 7 },
      });
    }
    expect(await Visit.objects.orderBy("id").flat("count")).toEqual([1, 1, 7]);
  });

  it("Rows that conflict are updated only where the condition holds", async () => {
    await Visit.objects.bulkCreate([
      { page: "a", count: 1 },
      { page: "b", count: 10 },
    ]);
    const options = { onConflict: "update", conflictFields: ["page"] } as const;
    const rows = [
      { page: "a", count: 5 },
      { page: "b", count: 5 },
    ];
    const written = await Visit.objects.bulkCreate(rows, {
      ...options,
      conflictWhere: { count__lt: excluded("count") },
    });
    expect(written.map((visit) => [visit.page, visit.count])).toEqual([["a", 5]]);
    await Visit.objects.bulkCreate(rows, { ...options, conflictWhere: test({ count: 10 }) });
    expect(await Visit.objects.orderBy("page").flat("count")).toEqual([5, 5]);
  });

  it("update() and delete() return the rows, or some fields of them", async () => {
    await Visit.objects.bulkCreate([{ page: "a" }, { page: "b" }, { page: "c", count: 5 }]);
    const changed = await Visit.objects
      .filter({ count: 1 })
      .update({ count: F("count").plus(1) })
      .returning();
    expect(changed.map((visit) => [visit instanceof Visit, visit.count])).toEqual([
      [true, 2],
      [true, 2],
    ]);
    const fields = await Visit.objects.filter({ page: "c" }).update({ closed: true }).returning("page", "seen");
    expect(fields).toEqual([{ page: "c", seen: expect.any(Date) }]);
    expect(await Visit.objects.update({}).returning("page")).toHaveLength(3);
    expect(await Visit.objects.none().delete().returning()).toEqual([]);
    expect(await Visit.objects.filter({ page: "a" }).delete().returning("page")).toEqual([{ page: "a" }]);
    const [gone] = await Visit.objects.orderBy("page").limit(1).delete().returning();
    expect(gone?.page).toBe("b");
    await gone!.save();
    expect(await Visit.objects.orderBy("page").flat("page")).toEqual(["b", "c"]);
    await expect(Visit.objects.delete().returning("pgae" as never)).rejects.toThrow(FieldError);
    expect(await Visit.objects.count()).toBe(2);
  });

  it("A write is sent once, awaited or not, and its errors can be caught", async () => {
    await Visit.objects.create({ page: "a" });
    const write = Visit.objects.update({ count: F("count").plus(1) });
    expect([await write, await write, await write.then((count) => count)]).toEqual([1, 1, 1]);
    expect(await Visit.objects.flat("count")).toEqual([2]);
    await expect(write.returning()).rejects.toThrow(/call returning\(\) at once/);
    let finished = 0;
    await expect(Visit.objects.update({ cuont: 1 } as never).finally(() => finished++)).rejects.toThrow(FieldError);
    expect(await Visit.objects.update({ cuont: 1 } as never).catch(() => -1)).toBe(-1);
    expect(finished).toBe(1);
    await db().transaction(async () => void Visit.objects.update({ count: 9 }).catch(() => {}));
  });

  it("A write whose rows were asked for is not sent again when it is awaited itself", async () => {
    await Visit.objects.create({ page: "a", count: 0 });
    const write = Visit.objects.update({ count: F("count").plus(1) });
    expect(await write.returning("count")).toEqual([{ count: 1 }]);
    await expect(write).rejects.toThrow(/await only its result/);
    expect(await Visit.objects.flat("count")).toEqual([1]);
  });

  it("Single keys of JSON are set and removed, and the others stay", async () => {
    await Visit.objects.create({ page: "a", settings: { theme: "light", size: 1, deep: { on: true } } });
    await Visit.objects.update({ settings__theme: "dark", settings__deep__list: [1, 2], settings__size: unset });
    expect(await Visit.objects.flat("settings")).toEqual([{ theme: "dark", deep: { on: true, list: [1, 2] } }]);
    await Visit.objects.update({ settings__deep__on: unset, settings__size: F("count").plus(1) });
    expect(await Visit.objects.flat("settings")).toEqual([{ theme: "dark", size: 2, deep: { list: [1, 2] } }]);
    await Visit.objects.update({ anything__a__b__c: null, anything__list: [1, { x: 2 }] });
    await Visit.objects.update({ anything__list__1__x: 3 });
    expect(await Visit.objects.flat("anything")).toEqual([{ a: { b: { c: null } }, list: [1, { x: 3 }] }]);
  });

  it("To remove a key makes no objects on the way to it", async () => {
    await Visit.objects.bulkCreate([
      { page: "a" },
      { page: "b", settings: null },
      { page: "c", settings: { theme: "light" } },
      { page: "d", settings: { deep: { on: true } } },
    ]);
    await db().execute(`update visits set anything = 'null' where page = 'a'`);
    await db().execute(`update visits set anything = '5' where page = 'b'`);
    const before = await Visit.objects.orderBy("page").values("settings", "anything");
    await Visit.objects.update({ settings__deep__list: unset, anything__a__b: unset, anything__c: unset });
    expect(await Visit.objects.orderBy("page").values("settings", "anything")).toEqual(before);
    await Visit.objects.update({ settings__deep__on: unset, settings__theme: "dark" });
    expect(await Visit.objects.orderBy("page").flat("settings")).toEqual([
      { theme: "dark" },
      { theme: "dark" },
      { theme: "dark" },
      { theme: "dark", deep: {} },
    ]);
  });

  it("The objects on the way to a key are made where they are missing or null", async () => {
    await Visit.objects.bulkCreate([{ page: "a" }, { page: "b", settings: null }]);
    await db().execute(`update visits set anything = 'null'`);
    await Visit.objects.update({ settings__deep__on: true, anything__x: 1 });
    expect(await Visit.objects.values("settings", "anything")).toEqual([
      { settings: { deep: { on: true } }, anything: { x: 1 } },
      { settings: { deep: { on: true } }, anything: { x: 1 } },
    ]);
  });

  it("Keys of JSON that cannot be set are refused", async () => {
    const wrong = (values: object): Promise<number> => Visit.objects.update(values as never).then((count) => count);
    await expect(wrong({ page__x: 1 })).rejects.toThrow("Visit.page is not JSON: it has no keys");
    await expect(wrong({ nothing__x: 1 })).rejects.toThrow(FieldError);
    await expect(wrong({ settings: {}, settings__a: 1 })).rejects.toThrow(/both given|given twice/);
    await expect(wrong({ settings__a: 1, settings: {} })).rejects.toThrow(/given twice/);
    await expect(wrong({ settings__a: 1, settings__a__b: 1 })).rejects.toThrow(/both given/);
    await expect(wrong({ settings__a__b: 1, settings__a: 1 })).rejects.toThrow(/given twice/);
    await expect(wrong({ [`settings${"__a".repeat(30)}`]: 1 })).rejects.toThrow(/20 keys deep/);
    await expect(wrong({ settings__a: () => 1 })).rejects.toThrow(ParameterTypeError);
    await expect(Visit.objects.create({ page: "x", settings__a: 1 } as never)).rejects.toThrow(FieldError);
    await Visit.objects.create({ page: "a", anything: "text" });
    await expect(wrong({ anything__a: 1 })).rejects.toThrow(/cannot set path in scalar/);
  });

  it("Keys and values of JSON are never part of the statement", async () => {
    await Visit.objects.create({ page: "a" });
    await Visit.objects.update({ [`anything__x'); drop table visits; --`]: "'); drop table visits; --" } as never);
    expect(await Visit.objects.flat("anything")).toEqual([
      { "x'); drop table visits; --": "'); drop table visits; --" },
    ]);
  });
});
