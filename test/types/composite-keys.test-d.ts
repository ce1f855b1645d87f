import { count, field, type Lazy, Model, type RelatedSet } from "stoa/orm";
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
    expectTypeOf(await Parcel.objects.values("line__title")).toEqualTypeOf<{ line__title: string | null }[]>();
    expectTypeOf(await Seal.objects.values("line__title")).toEqualTypeOf<{ line__title: string }[]>();
    Line.objects.annotate({ n: count("parcels") });
    // @ts-expect-error: no such field
    Parcel.objects.filter({ line__titel: "a" });
    // @ts-expect-error: a key of several fields is no value
    Parcel.objects.filter({ line: "a" });
    // @ts-expect-error: the fields of a seal cannot be null
    Seal.objects.filter({ line: null });
  });

  it("Related rows are created without the fields that refer to the row around them", () => {
    Line.objects.create({ shop: 1, number: 1, title: "a", parcels: [{ carrier: "x" }], seal: { colour: "red" } });
    Parcel.objects.create({ shop: 1, carrier: "x", line: { shop: 1, number: 1, title: "a" } });
    Parcel.objects.create({ shop: 1, carrier: "x", line: new Line() });
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
