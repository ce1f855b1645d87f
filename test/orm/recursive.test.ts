import { beforeAll, expect, it } from "vitest";
import { count, FieldError, field, type Manager, Model, max, mix, softDelete } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases } from "./databases.js";

class Category extends Model("categories", {
  id: field.auto(),
  name: field.text(),
  get parent() {
    return field.foreignKey(() => Category, { null: true });
  },
  get children() {
    return field.reverse(() => Category, "parent");
  },
  get similar() {
    return field.manyToMany(() => Category);
  },
  get shelf() {
    return field.foreignKey(() => Shelf, { null: true });
  },
}) {
  declare static objects: Manager<Category>;
}

class Shelf extends Model("shelves", { id: field.auto() }) {}

class Page extends Model(
  "site_pages",
  mix(softDelete(), {
    id: field.auto(),
    name: field.text(),
    get above() {
      return field.foreignKey(() => Page, { null: true });
    },
    get below() {
      return field.reverse(() => Page, "above");
    },
  }),
) {}

const { objects } = Category;

describeDatabases("rows that are reached step by step", service("postgres"), [Shelf, Category, Page], () => {
  beforeAll(async () => {
    const make = (name: string, parent: Category | null) => objects.create({ name, parent });
    const food = await make("food", null);
    const fruit = await make("fruit", food);
    const apple = await make("apple", fruit);
    await make("gala", apple);
    await make("pear", fruit);
    await make("tools", null);
    // A circle: round -> loop -> round.
    const round = await make("round", null);
    const loop = await make("loop", round);
    await objects.filter({ id: round.id }).update({ parent: loop });
    await apple.related("similar").add(fruit);
    await fruit.related("similar").add(food, apple);
  });

  const names = async (rows: PromiseLike<readonly { name: string }[]>): Promise<string[]> =>
    (await rows).map(({ name }) => name);

  it("recursive() returns rows and everything below them", async () => {
    expect(await names(objects.filter({ name: "fruit" }).recursive("children").orderBy("name"))).toEqual([
      "apple",
      "fruit",
      "gala",
      "pear",
    ]);
    const below = objects.filter({ name: "fruit" }).recursive("children", { self: false });
    expect(await names(below.orderBy("name"))).toEqual(["apple", "gala", "pear"]);
    expect(await below.count()).toBe(3);
    expect(await below.filter({ name__startswith: "g" }).exists()).toBe(true);
  });

  it("recursive() returns rows and everything above them", async () => {
    const above = objects.filter({ name__in: ["gala", "pear"] }).recursive("parent", { self: false, depth: "steps" });
    expect(await above.orderBy("steps", "name").valuesList("name", "steps")).toEqual([
      ["apple", 1],
      ["fruit", 1],
      ["food", 2],
    ]);
  });

  it("The depth is an annotation, and can have a largest value", async () => {
    const tree = objects.filter({ parent: null }).recursive("children", { depth: "level" });
    const rows = await tree.orderBy("level", "name");
    expect(rows.map(({ name, level }) => [name, level])).toEqual([
      ["food", 0],
      ["tools", 0],
      ["fruit", 1],
      ["apple", 2],
      ["pear", 2],
      ["gala", 3],
    ]);
    expect(await names(tree.filter({ level__gte: 2 }).orderBy("-level", "name"))).toEqual(["gala", "apple", "pear"]);
    expect(await tree.aggregate({ deepest: max("level"), n: count() })).toEqual({ deepest: 3, n: 6 });
    const two = objects.filter({ name: "food" }).recursive("children", { maxDepth: 1 });
    expect(await names(two.orderBy("name"))).toEqual(["food", "fruit"]);
    expect((await tree.orderBy("level", "name").values("name", "level").limit(1).json()).value()).toEqual([
      { name: "food", level: 0 },
    ]);
    expect((await tree.orderBy("level", "name").keyset({ size: 4 })).items.map(({ name }) => name)).toEqual([
      "food",
      "tools",
      "fruit",
      "apple",
    ]);
  });

  it("A circle of rows ends, with a depth and without", async () => {
    expect(await names(objects.filter({ name: "loop" }).recursive("children").orderBy("name"))).toEqual([
      "loop",
      "round",
    ]);
    const counted = objects.filter({ name: "loop" }).recursive("parent", { depth: "steps" });
    expect(await counted.orderBy("steps").valuesList("name", "steps")).toEqual([
      ["loop", 0],
      ["round", 1],
    ]);
  });

  it("A step that leads back to the start counts it without `self`, with a depth and without", async () => {
    const start = objects.filter({ name: "round" });
    const below = { self: false } as const;
    expect(await names(start.recursive("children", below).orderBy("name"))).toEqual(["loop", "round"]);
    expect(await names(start.recursive("children", { ...below, maxDepth: 9 }).orderBy("name"))).toEqual([
      "loop",
      "round",
    ]);
    expect(
      await start
        .recursive("children", { ...below, depth: "level" })
        .orderBy("level")
        .valuesList("name", "level"),
    ).toEqual([
      ["loop", 1],
      ["round", 2],
    ]);
  });

  it("A many-to-many relation is followed, with a largest depth if the depth is asked for", async () => {
    const near = objects.filter({ name: "apple" });
    expect(await names(near.recursive("similar").orderBy("name"))).toEqual(["apple", "food", "fruit"]);
    const steps = near.recursive("similar", { depth: "steps", maxDepth: 5 });
    expect(await steps.orderBy("steps").valuesList("name", "steps")).toEqual([
      ["apple", 0],
      ["fruit", 1],
      ["food", 2],
    ]);
    expect(() => near.recursive("similar", { depth: "steps" })).toThrow(/maxDepth/);
  });

  it("The rows can have relations, be a subquery, be combined and be followed again", async () => {
    const fruit = objects.filter({ name: "fruit" }).recursive("children");
    const [gala] = await fruit.selectRelated("parent").filter({ name: "gala" });
    expect(gala!.parent?.name).toBe("apple");
    const [apple] = await fruit.prefetchRelated("children").filter({ name: "apple" });
    expect(apple!.children.map(({ name }) => name)).toEqual(["gala"]);
    expect(await objects.filter({ parent__in: fruit }).count()).toBe(3);
    expect(
      await objects.filter({ name: "gala" }).recursive("parent").filter({ parent: null }).recursive("children").count(),
    ).toBe(5);
    expect(await fruit.union(objects.filter({ name: "tools" })).count()).toBe(5);
    expect(
      await fruit
        .annotate({ n: count("children") })
        .orderBy("-n", "id")
        .flat("n"),
    ).toEqual([2, 1, 0, 0]);
    expect(await objects.filter({ parent: null }).orderBy("-name").limit(1).recursive("children").flat("name")).toEqual(
      ["tools"],
    );
    expect(await objects.none().recursive("children")).toEqual([]);
  });

  it("All rows below a row are updated and deleted at once", async () => {
    const root = await objects.create({ name: "temporary", parent: null });
    const child = await objects.create({ name: "temporary child", parent: root });
    await objects.create({ name: "temporary grandchild", parent: child });
    const below = objects.filter({ id: root.id }).recursive("children", { self: false });
    expect(await below.update({ name: "changed" })).toBe(2);
    expect(await objects.filter({ name: "changed" }).count()).toBe(2);
    expect(await objects.filter({ id: root.id }).recursive("children").delete()).toBe(3);
  });

  it("Rows that are deleted softly end the way, unless they are shown", async () => {
    const top = await Page.objects.create({ name: "top" });
    const middle = await Page.objects.create({ name: "middle", above: top });
    await Page.objects.create({ name: "bottom", above: middle });
    await middle.delete();
    expect(await Page.objects.filter({ id: top.id }).recursive("below").count()).toBe(1);
    expect(await Page.objects.withDeleted().filter({ id: top.id }).recursive("below").count()).toBe(3);
  });

  it("Other relations, names of fields and wrong depths are refused", () => {
    expect(() => objects.recursive("shelf" as never)).toThrow(/not back to Category/);
    expect(() => objects.recursive("nothing" as never)).toThrow(FieldError);
    expect(() => objects.recursive("children", { depth: "name" as never })).toThrow(/name of a field/);
    expect(() => objects.values("id").recursive("children")).toThrow(FieldError);
    expect(() => objects.recursive("children", { maxdepth: 1 } as never)).toThrow("did you mean 'maxDepth'?");
    for (const maxDepth of [0, -1, 1.5, Number.NaN])
      expect(() => objects.recursive("children", { maxDepth })).toThrow("option 'maxDepth' in recursive()");
  });
});
