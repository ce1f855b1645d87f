import { beforeEach, describe, expect, it } from "vitest";
import { DataError, ParameterValueError, ProgrammingError } from "../../src/engines/db/errors.js";
import { App } from "../../src/entry/index.js";
import { createTables, createTablesSql, FieldError, field, Model, partial } from "../../src/entry/orm.js";
import { HttpError } from "../../src/errors/http-error.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Item extends Model("ui_items", {
  id: field.auto(),
  name: field.text(),
  labels: field.array(field.text(), { default: [] }),
  data: field.json<unknown>({ null: true }),
  at: field.datetime({ null: true }),
  tags: field.manyToMany(() => Tag),
  get reviews() {
    return field.reverse(() => Review, "item");
  },
}) {}
class Tag extends Model("ui_tags", { id: field.auto(), name: field.text() }) {}
class Review extends Model("ui_reviews", {
  id: field.auto(),
  stars: field.int(),
  get item() {
    return field.foreignKey(() => Item);
  },
}) {}
const models = [Item, Tag, Review];

describeDatabases("unusual input", service("postgres"), models, (db) => {
  let tagged: Item;
  let bare: Item;
  beforeEach(async () => {
    await truncate(db(), models);
    tagged = await Item.objects.create({ name: "tagged", data: { list: [1, 2], none: null }, labels: ["a", "b"] });
    bare = await Item.objects.create({ name: "bare", data: { list: [] }, labels: ["a"] });
    await tagged.tags.add(await Tag.objects.create({ name: "red" }));
    await Review.objects.create({ stars: 5, item: bare });
  });
  const names = async (condition: object): Promise<string[]> =>
    Item.objects
      .filter(condition as never)
      .orderBy("id")
      .flat("name");

  it("A lookup of null for a relation to many finds the rows without related rows", async () => {
    expect(await names({ tags: null })).toEqual(["bare"]);
    expect(await names({ tags__exact: null })).toEqual(["bare"]);
    expect(await names({ reviews: null })).toEqual(["tagged"]);
    expect(await names({ reviews: null, tags__name: "red" })).toEqual(["tagged"]);
    expect(await names({ tags: null, tags__name: "red" })).toEqual([]);
    expect(await names({ tags__isnull: false, tags__name: "red" })).toEqual(["tagged"]);
    expect(await Item.objects.exclude({ tags: null } as never).flat("name")).toEqual(["tagged"]);
    expect(await Review.objects.filter({ item__tags: null } as never).count()).toBe(1);
    await expect(names({ tags__isnull: null })).rejects.toThrow(FieldError);
  });

  it("Lists within JSON are compared as values", async () => {
    expect(await names({ data__list__in: [] })).toEqual([]);
    expect(await names({ data__list__in: [[]] })).toEqual(["bare"]);
    expect(await names({ data__list__in: [[1, 2], [3]] })).toEqual(["tagged"]);
    expect(await names({ data__list__in: [[[1, 2]]] })).toEqual([]);
    expect(await names({ data__none__in: [null, 7] })).toEqual(["tagged"]);
    expect(await names({ data__none: null })).toEqual(["tagged"]);
  });

  it("A column of lists is compared with a list of lists", async () => {
    expect(await names({ labels__in: [["a"], ["x", "y"]] })).toEqual(["bare"]);
    expect(await names({ labels__in: [["a", "b"], ["a"]] })).toEqual(["tagged", "bare"]);
    expect(await names({ labels__in: [] })).toEqual([]);
  });

  it("An update without values changes nothing, and returns the number of matching rows", async () => {
    expect(await Item.objects.filter({ name: "bare" }).update({})).toBe(1);
    expect(await Item.objects.filter({ name: "nobody" }).update({})).toBe(0);
    expect(await Item.objects.none().update({})).toBe(0);
    expect(await Item.objects.filter({ name: "bare" }).updateReturning({ name: undefined } as never)).toMatchObject([
      { name: "bare" },
    ]);
    await expect(Item.objects.update({ nothing: 1 } as never)).rejects.toThrow(FieldError);
    const app = new App();
    app.patch("/items/{id}", { body: partial(Item) }, async (request, { body }) => {
      await Item.objects.filter({ id: Number(request.params.id) }).update(body as never);
    });
    const response = await app.request(`/items/${bare.id}`, {
      method: "PATCH",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    expect(response.status).toBe(204);
  });

  it("forUpdate() is refused outside a transaction", async () => {
    const locked = Item.objects.filter({ id: bare.id }).forUpdate();
    await expect(locked.get()).rejects.toThrow(ProgrammingError);
    await expect(locked.json()).rejects.toThrow(/forUpdate\(\) needs a transaction/);
    await expect(locked.iterator().next()).rejects.toThrow(/transaction/);
    expect(await locked.count()).toBe(1);
    await db().transaction(async (tx) => {
      expect((await locked.using(tx).get()).name).toBe("bare");
      expect((await locked.get()).name).toBe("bare");
    });
  });

  it("Half a surrogate pair in JSON is refused before it is sent", async () => {
    for (const data of ["\ud800", { a: ["x\udfff"] }, { "\udc00": 1 }]) {
      await expect(Item.objects.create({ name: "x", data })).rejects.toThrow(ParameterValueError);
      await expect(names({ data })).rejects.toThrow(ParameterValueError);
    }
    const fine = { emoji: "\u{1F600}", text: "\\ud800 \\u0000" };
    const item = await Item.objects.create({ name: "x", data: fine });
    expect((await Item.objects.get({ id: item.id })).data).toEqual(fine);
  });

  it("Infinity in a datetime is read, written back and compared", async () => {
    await db().execute("UPDATE ui_items SET at = 'infinity' WHERE name = 'bare'");
    const item = await Item.objects.get({ name: "bare" });
    expect(item.at).toBe(Number.POSITIVE_INFINITY);
    await item.save({ fields: ["at"] });
    expect(await names({ at: Number.POSITIVE_INFINITY })).toEqual(["bare"]);
    expect(await names({ at__gt: new Date() })).toEqual(["bare"]);
    expect(await names({ at: Number.NEGATIVE_INFINITY })).toEqual([]);
    expect(JSON.parse(JSON.stringify(item)).at).toBeNull();
    const [json] = (await Item.objects.filter({ name: "bare" }).json()).value() as { at: unknown }[];
    expect(json!.at).toBeNull();
    await expect(names({ at: Number.NaN })).rejects.toThrow(/Date/);
  });

  it("A list that a client repeats is one list", async () => {
    const ids = new URLSearchParams([
      ["id__in", String(tagged.id)],
      ["id__in", `${bare.id},99`],
    ]);
    expect(await Item.objects.filterFrom(ids, ["id__in"]).count()).toBe(2);
    const listed = { id__in: [String(bare.id)] };
    expect(await Item.objects.filterFrom(listed, ["id__in"]).count()).toBe(1);
    expect(() => Item.objects.filterFrom(new URLSearchParams("id__in=1&id__in=x"), ["id__in"])).toThrow(HttpError);
    const both = new URLSearchParams("name__contains=a&name__contains=b");
    expect(await Item.objects.filterFrom(both, ["name__contains"]).flat("name")).toEqual(["bare"]);
  });

  it("An invalid regular expression of a client gets 400", async () => {
    const asked = Item.objects.filterFrom({ name__regex: "(" }, ["name__regex"]);
    const refusal = { status: 400, message: expect.stringContaining("regular expression") as string };
    await expect(asked.toArray()).rejects.toMatchObject(refusal);
    await expect(asked.count()).rejects.toMatchObject(refusal);
    await expect(asked.exists()).rejects.toMatchObject(refusal);
    await expect(asked.json()).rejects.toMatchObject(refusal);
    await expect(asked.iterator().next()).rejects.toMatchObject(refusal);
    await expect(Item.objects.filter({ name__regex: "(" })).rejects.toThrow(DataError);
    const app = new App();
    app.get("/items", (request) => Item.objects.filterFrom(request.query, ["name__regex"]));
    expect((await app.request("/items?name__regex=(")).status).toBe(400);
    expect((await app.request("/items?name__regex=b")).status).toBe(200);
  });
});

describe("models", () => {
  it("A field with a reserved name is refused when the model is made", () => {
    for (const name of ["meta", "objects", "save", "pk"]) {
      expect(() => Model("reserved", { id: field.auto(), [name]: field.text() })).toThrow(
        `reserved: a field cannot be named '${name}'`,
      );
    }
    expect(() => Model("reserved", { id: field.auto(), a__b: field.text() })).toThrow(/cannot be the name of a field/);
  });

  it("createTablesSql() accepts the same models as createTables()", async () => {
    const sent: string[] = [];
    await createTables({ script: async (text) => void sent.push(text) }, models);
    expect(createTablesSql(models)).toBe(sent[0]);
    expect(createTablesSql(models.map((model) => model.meta))).toBe(sent[0]);
  });
});
