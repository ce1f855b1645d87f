import { count, F, field, type Lazy, Model, nested, type RelatedSet } from "stoa/orm";
import { describe, expectTypeOf, it } from "vitest";

class Line extends Model(
  "lines",
  {
    shop: field.int(),
    number: field.int(),
    title: field.text(),
    get parcels() {
      return field.reverse(() => Parcel, "line");
    },
    get seal() {
      return field.reverseOne(() => Seal, "line");
    },
    get stamp() {
      return field.reverseOne(() => Stamp, "line");
    },
  },
  { primaryKey: ["shop", "number"] },
) {}

class Parcel extends Model("parcels", {
  id: field.auto(),
  shop: field.int(),
  number: field.int({ null: true }),
  carrier: field.text(),
  line: field.compositeForeignKey(() => Line, ["shop", "number"], { null: true }),
}) {}

class Seal extends Model(
  "seals",
  {
    shop: field.int(),
    number: field.int(),
    colour: field.text(),
    line: field.compositeForeignKey(() => Line, ["shop", "number"], { unique: true }),
  },
  { primaryKey: ["shop", "number"] },
) {}

class Shop extends Model("shops", {
  id: field.auto(),
  get lines() {
    return field.reverse(() => ShopLine, "shop");
  },
}) {}

class ShopLine extends Model(
  "shop_lines",
  { shop: field.foreignKey(() => Shop), number: field.int(), title: field.text() },
  { primaryKey: ["shop", "number"] },
) {}

class Stamp extends Model("stamps", {
  id: field.auto(),
  shop: field.foreignKey(() => Shop),
  number: field.int(),
  text: field.text(),
  line: field.compositeForeignKey(() => Line, ["shop", "number"], { unique: true }),
}) {}

class Code extends Model(
  "codes",
  { id: field.auto(), series: field.text(), serial: field.bigInt() },
  { unique: [["series", "serial"]] },
) {}

class Order extends Model("orders", {
  id: field.auto(),
  series: field.text(),
  serial: field.bigInt(),
  code: field.compositeForeignKey(() => Code, ["series", "serial"], { references: ["series", "serial"] }),
}) {}

describe("the types of foreign keys over several fields", () => {
  it("The relation is a property of the rows, and no column", async () => {
    const parcel = await Parcel.objects.get({ id: 1 });
    expectTypeOf(parcel.line).toEqualTypeOf<Line | null | Lazy<Line | null>>();
    expectTypeOf((await Seal.objects.get()).line).toEqualTypeOf<Line | Lazy<Line>>();
    expectTypeOf((await parcel.line)!.parcels).toEqualTypeOf<RelatedSet<Parcel>>();
    // @ts-expect-error: there is no column of the relation
    parcel.lineId;
    parcel.line = null;
    // @ts-expect-error: the fields of a seal cannot be null
    (await Seal.objects.get()).line = null;
  });

  it("Queries go along the relation in both directions", async () => {
    const [parcel] = await Parcel.objects.filter({ line__title: "a", line__seal__colour: "red" }).selectRelated("line");
    expectTypeOf(parcel!.line).toEqualTypeOf<Line | null>();
    const [line] = await Line.objects.filter({ parcels__carrier: "x" }).prefetchRelated("parcels__line", "seal");
    expectTypeOf(line!.parcels[0]!.line).toEqualTypeOf<Line | null>();
    expectTypeOf(line!.seal).toEqualTypeOf<Seal | null>();
    await Parcel.objects.filter({ line: new Line(), line__in: [new Line()], line__isnull: true });
    await Parcel.objects.filter({ line: line!, line__in: [line!] });
    await Parcel.objects.filter({ line__in: Line.objects.prefetchRelated("parcels") });
    await Parcel.objects.filter({ line: await Line.objects.only("title").get() });
    expectTypeOf(await Parcel.objects.values("line__title")).toEqualTypeOf<{ line__title: string | null }[]>();
    expectTypeOf(await Seal.objects.values("line__title")).toEqualTypeOf<{ line__title: string }[]>();
    Line.objects.annotate({ n: count("parcels") });
    // @ts-expect-error: no such field
    Parcel.objects.filter({ line__titel: "a" });
    // @ts-expect-error: a key of several fields is no value
    Parcel.objects.filter({ line: "a" });
    // @ts-expect-error: the fields of a seal cannot be null
    Seal.objects.filter({ line: null });
    // @ts-expect-error: a row of another model
    Parcel.objects.filter({ line: new Seal() });
  });

  it("A composite key is a list of the values of its fields", async () => {
    const line = await Line.objects.get({ pk: [1, 1] });
    expectTypeOf(line.pk).toEqualTypeOf<readonly [number, number]>();
    await Line.objects.filter({ pk: [1, 2], pk__in: [[1, 2], line.pk], pk__gte: [1, 1] });
    await Parcel.objects.filter({ line: [1, 2], line__in: [line.pk, new Line()], line__range: [line.pk, [2, 1]] });
    await Order.objects.filter({ code: ["a", 1n] });
    // @ts-expect-error: the key has two fields
    Line.objects.filter({ pk: [1] });
    // @ts-expect-error: the fields of the key are numbers
    Line.objects.filter({ pk: ["1", 2] });
    // @ts-expect-error: the fields of the key are numbers
    Parcel.objects.filter({ line__in: [[1, "2"]] });
    // @ts-expect-error: a text and a big number
    Order.objects.filter({ code: [1n, "a"] });
    // @ts-expect-error: no such field
    class _Wrong extends Model("wrong", { a: field.int(), b: field.int() }, { primaryKey: ["a", "c"] }) {}
  });

  it("A composite key orders rows by its fields, and has no value of its own", () => {
    Parcel.objects.orderBy("line", "-line").distinct("line").orderFrom("line", ["line"]);
    Line.objects.orderBy("pk", "-seal", "seal__line");
    // @ts-expect-error: several fields have no value together
    Parcel.objects.values("line");
    // @ts-expect-error: several fields have no value together
    Parcel.objects.flat("line");
    // @ts-expect-error: several fields have no value together
    Line.objects.valuesList("pk");
    // @ts-expect-error: several fields have no value together
    Parcel.objects.annotate({ line2: F("line") });
    // @ts-expect-error: the seal has a composite key
    Line.objects.values("seal");
    // @ts-expect-error: the seal has a composite key
    Line.objects.annotate({ seal2: F("seal") });
    Line.objects.values("stamp", "parcels", "seal__shop");
    // @ts-expect-error: clients create rows that refer to a row, never the row that is referred to
    nested(Parcel, "line");
    nested(Line, "parcels", "seal");
  });

  it("Related rows with a composite key can be counted, and have no value of their own", () => {
    Shop.objects.annotate({ n: count("lines") }).filter({ lines__isnull: false, n__gt: 1 });
    Shop.objects.values("lines__number", "lines__title");
    // @ts-expect-error: several fields have no value together
    Shop.objects.values("lines");
    // @ts-expect-error: several fields have no value together
    Shop.objects.values("id", "lines");
    // @ts-expect-error: several fields have no value together
    Shop.objects.valuesList("id", "lines");
    // @ts-expect-error: several fields have no value together
    Shop.objects.flat("lines");
    // @ts-expect-error: several fields have no value together
    Stamp.objects.flat("shop__lines");
    // @ts-expect-error: several fields have no value together
    Shop.objects.flat("lines__pk");
  });

  it("Related rows are created without the fields that refer to the row around them", () => {
    Line.objects.create({ shop: 1, number: 1, title: "a", parcels: [{ carrier: "x" }], seal: { colour: "red" } });
    Parcel.objects.create({ shop: 1, carrier: "x", line: { shop: 1, number: 1, title: "a" } });
    Parcel.objects.create({ shop: 1, carrier: "x", line: new Line() });
    Line.objects.create({ shop: 1, number: 1, title: "a", stamp: { text: "b" } });
    Parcel.objects.filter({ id: 1 }).update({ line: new Line() });
    Parcel.objects.filter({ id: 1 }).update({ line: null });
    // @ts-expect-error: the fields of a seal cannot be null
    Seal.objects.filter({ colour: "red" }).update({ line: null });
    // @ts-expect-error: a row of another model
    Parcel.objects.filter({ id: 1 }).update({ line: new Seal() });
    Parcel.objects.create({ shop: 1, carrier: "x", line: null });
    // @ts-expect-error: the carrier is missing
    Line.objects.create({ shop: 1, number: 1, title: "a", parcels: [{}] });
    // @ts-expect-error: the fields of a seal cannot be null
    Seal.objects.create({ shop: 1, number: 1, colour: "red", line: null });
  });

  it("The options are checked", () => {
    // @ts-expect-error: one field is a foreign key
    field.compositeForeignKey(() => Line, ["shop"]);
    // @ts-expect-error: no such option
    field.compositeForeignKey(() => Line, ["shop", "number"], { to: "shop" });
  });
});
