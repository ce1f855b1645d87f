import { beforeEach, expect, it } from "vitest";
import { App } from "../../src/app/app.js";
import { ForeignKeyViolation, UniqueViolation } from "../../src/engines/db/errors.js";
import { field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Shelf extends Model(
  "ro_shelves",
  { room: field.int(), number: field.int() },
  { primaryKey: ["room", "number"] },
) {}

class Owner extends Model("ro_owners", { id: field.auto(), name: field.text() }) {}

class Item extends Model(
  "ro_items",
  {
    id: field.auto(),
    code: field.text({ null: true }),
    room: field.int({ null: true }),
    number: field.int({ null: true }),
    owner: field.foreignKey(() => Owner, { null: true, comment: "Who paid for it", constraint: "item_has_owner" }),
    creator: field.foreignKey(() => Owner, { null: true, hidden: true, relatedName: "created", constraint: false }),
    editor: field.foreignKey(() => Owner, { null: true, readOnly: true, relatedName: "edited" }),
    shelf: field.compositeForeignKey(() => Shelf, ["room", "number"], { null: true, constraint: "item_is_on_shelf" }),
    oldRoom: field.int({ null: true }),
    oldNumber: field.int({ null: true }),
    oldShelf: field.compositeForeignKey(() => Shelf, ["oldRoom", "oldNumber"], {
      null: true,
      relatedName: "former",
      constraint: false,
    }),
    readers: field.manyToMany(() => Owner, { relatedName: "reads", table: "ro_readers" }),
  },
  { indexes: [{ fields: ["code"], unique: true, nullsNotDistinct: true, name: "ro_one_code" }] },
) {}

const models = [Shelf, Owner, Item];

describeDatabases("options of relations", service("postgres"), models, (db) => {
  beforeEach(() => truncate(db(), models));

  it("A foreign key has the name and the comment that it gives in the database, or no constraint", async () => {
    const keys = await db().fetch<{ name: string }>(
      "select conname as name from pg_constraint where conrelid = 'ro_items'::regclass and contype = 'f' order by 1",
    );
    expect(keys.map(({ name }) => name)).toEqual(["item_has_owner", "item_is_on_shelf", "ro_items_editor_id_fkey"]);
    const comment = `select col_description('ro_items'::regclass, attnum) from pg_attribute
      where attrelid = 'ro_items'::regclass and attname = 'owner_id'`;
    expect(await db().fetchval(comment)).toBe("Who paid for it");
    await Item.objects.create({ code: "a", creatorId: 99, oldRoom: 1, oldNumber: 1 });
    await expect(Item.objects.create({ code: "b", ownerId: 99 })).rejects.toThrow(ForeignKeyViolation);
    await expect(Item.objects.create({ code: "c", room: 1, number: 1 })).rejects.toThrow(ForeignKeyViolation);
  });

  it("A hidden foreign key is not in JSON, and one that is read only is ignored in bodies", async () => {
    await Owner.objects.bulkCreate([{ name: "Ada" }, { name: "Grace" }]);
    const app = new App();
    app.post("/", { body: Item }, async (_request, { body }) => Item.objects.create(body));
    const sent = JSON.stringify({ code: "a", ownerId: 1, creatorId: 2, editorId: 2 });
    const headers = { "content-type": "application/json" };
    const response = await app.request("/", { method: "POST", headers, body: sent });
    const shown = (await response.json()) as object;
    expect(shown).toMatchObject({ code: "a", ownerId: 1, editorId: null });
    expect(shown).not.toHaveProperty("creatorId");
    const [stored] = await Item.objects.all();
    expect([stored!.ownerId, stored!.creatorId, stored!.editorId]).toEqual([1, 2, null]);
  });

  it("A many-to-many relation keeps its rows in the table that it names", async () => {
    const item = await Item.objects.create({ code: "a" });
    const owner = await Owner.objects.create({ name: "Ada" });
    await item.readers.add(owner);
    expect(await db().fetch("select * from ro_readers")).toEqual([{ ro_item_id: item.id, ro_owner_id: owner.id }]);
  });

  it("A unique index without distinct nulls holds one null", async () => {
    await Item.objects.create({ code: null });
    await expect(Item.objects.create({ code: null })).rejects.toThrow(UniqueViolation);
  });
});
