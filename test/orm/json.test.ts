import { beforeEach, describe, expect, it } from "vitest";
import { sql } from "../../src/engines/db/sql/sql.js";
import { openDatabase } from "../../src/entry/index.js";
import { count, exists, F, field, lower, Model, outer, raw, value } from "../../src/entry/orm.js";
import { toJson } from "../../src/http/json/to-json.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Shelf extends Model("shelves", {
  id: field.auto(),
  label: field.text(),
  place: field.char({ maxLength: 20, null: true }),
  get items() {
    return field.reverse(() => Item, "shelf");
  },
}) {}

class Item extends Model("items", {
  id: field.auto(),
  name: field.text({ null: true }),
  shelf: field.foreignKey(() => Shelf, { null: true }),
  size: field.float({ null: true }),
  weight: field.decimal({ precision: 10, scale: 2, null: true }),
  serial: field.bigInt({ null: true }),
  data: field.json({ null: true }),
  made: field.datetime({ null: true, precision: 6 }),
  tags: field.array(field.text(), { null: true }),
  length: field.interval({ null: true }),
  good: field.bool({ default: true }),
}) {}

/** A key that is in no answer. */
class Token extends Model("tokens", { key: field.uuid({ primaryKey: true, hidden: true }), label: field.text() }) {}

class Use extends Model("uses", { id: field.auto(), token: field.foreignKey(() => Token, { null: true }) }) {}

/** Takes columns for what they are not. */
class Mistaken extends Model(
  "items",
  {
    id: field.auto(),
    name: field.int(),
    good: field.int(),
    size: field.text(),
    serial: field.int(),
    weight: field.int(),
  },
  { managed: false },
) {}

const models = [Shelf, Item, Token, Use];

describeDatabases("the JSON of querysets", service("postgres"), models, (db) => {
  beforeEach(() => truncate(db(), models));

  const same = async (rows: { json(): Promise<{ text: string }> } & PromiseLike<unknown>): Promise<unknown[]> => {
    const written = JSON.parse((await rows.json()).text) as unknown[];
    expect(written).toEqual(JSON.parse(toJson(await rows)!));
    return written;
  };

  it("The JSON of no rows is an empty list", async () => {
    expect((await Item.objects.json()).text).toBe("[]");
    expect((await Item.objects.selectRelated("shelf").values("id").json()).text).toBe("[]");
  });

  it("The JSON of rows equals the output of JSON.stringify, to the byte", async () => {
    await Item.objects.create({ name: "a", size: 0.5, serial: 5n, weight: "1.50", made: new Date(0), tags: ["x"] });
    await Item.objects.create({ good: false });
    expect((await Item.objects.orderBy("id").json()).text).toBe(JSON.stringify(await Item.objects.orderBy("id")));
  });

  it("The JSON of rows escapes exactly what must be escaped", async () => {
    const names = [
      "",
      'a "quoted" word',
      "back\\slash",
      "line\nbreak\r\t\b\f",
      "\u0001\u001f\u007f",
      "ö€😀\u2028\u2029",
      'mixed ö " 😀 \\ end',
      "x".repeat(100),
      `${"y".repeat(100)}"`,
    ];
    await Item.objects.bulkCreate(names.map((name) => ({ name })));
    const rows = Item.objects.orderBy("id");
    expect((await rows.flat("name").json()).text).toBe(JSON.stringify(names));
    await same(rows);
  });

  it("The JSON of rows can be larger than one buffer", async () => {
    const text = `${"ab\\cd".repeat(20_000)}😀`;
    await Item.objects.bulkCreate(
      Array.from({ length: 20 }, (_, n) => ({ name: n % 2 === 0 ? text : "z".repeat(70_000) })),
    );
    const written = (await same(Item.objects.orderBy("id"))) as { name: string }[];
    expect(written[18]!.name).toBe(text);
  });

  it("Concurrent JSON queries each get their own result", async () => {
    await Item.objects.bulkCreate(Array.from({ length: 300 }, (_, n) => ({ name: `${"n".repeat(n)} ${n}` })));
    const expected = JSON.stringify(await Item.objects.orderBy("id"));
    const [one] = await Item.objects.orderBy("id").limit(1);
    const both = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (n % 2 ? Item.objects.orderBy("id") : Item.objects.filter({ id: one!.id })).json(),
      ),
    );
    for (const [n, { text }] of both.entries()) expect(text).toBe(n % 2 ? expected : JSON.stringify([one]));
  });

  it("Numbers that JSON cannot express are null, and others are unchanged", async () => {
    await Item.objects.bulkCreate(
      [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e300, 1.5e-7, 0.1, -3].map((size) => ({
        size,
      })),
    );
    const sizes = (await Item.objects.orderBy("id").flat("size").json()).value();
    expect(sizes).toEqual([null, null, null, 1e300, 1.5e-7, 0.1, -3]);
  });

  it("Moments in JSON are in UTC with three digits of the second", async () => {
    const texts = [
      "2024-01-31 12:00:00Z",
      "2024-01-31 12:00:00.5Z",
      "2024-01-31 12:00:00.123999Z",
      "0044-03-15 12:00:00Z BC",
      "12024-01-31 12:00:00Z",
      "infinity",
    ];
    for (const text of texts) await db().execute("insert into items (made) values ($1::text::timestamptz)", [text]);
    expect((await Item.objects.orderBy("id").flat("made").json()).value()).toEqual([
      "2024-01-31T12:00:00.000Z",
      "2024-01-31T12:00:00.500Z",
      "2024-01-31T12:00:00.123Z",
      "-000043-03-15T12:00:00.000Z",
      "+012024-01-31T12:00:00.000Z",
      null,
    ]);
  });

  it("Related rows are nested in JSON, and missing ones are null", async () => {
    const shelf = await Shelf.objects.create({ label: 'the "first"' });
    await Item.objects.create({ name: "on it", shelf });
    await Item.objects.create({ name: "on none" });
    const written = await same(Item.objects.selectRelated("shelf").orderBy("id"));
    expect(written).toMatchObject([{ shelf: { id: shelf.id, label: 'the "first"', place: null } }, { shelf: null }]);
  });

  it("A related row whose key is hidden is still found in JSON", async () => {
    const token = await Token.objects.create({ key: "5a0c1a3e-0d6c-4c6e-9a70-0a3b6c1d2e3f", label: "t" });
    await Use.objects.create({ token });
    await Use.objects.create({});
    const written = await same(Use.objects.selectRelated("token").orderBy("id"));
    expect(written).toMatchObject([{ token: { label: "t" } }, { token: null }]);
    expect(written[0]).not.toHaveProperty("token.key");
  });

  it("The JSON of rows contains annotations of any kind", async () => {
    const shelf = await Shelf.objects.create({ label: "A" });
    await Item.objects.create({ name: "Ab", shelf, size: 2, weight: "3.00", serial: 7n, data: { a: [1] } });
    await same(
      Item.objects.annotate({
        small: lower("name"),
        twice: F("size").times(2),
        heavy: F("weight").plus(1),
        label: F("shelf__label"),
        key: F("data__a"),
        constant: value("text"),
        one: value(1),
        nothing: raw(sql`null`),
        found: exists(Shelf.objects.filter({ id: outer("shelfId") })),
      }),
    );
    await same(Item.objects.values("good").annotate({ n: count() }));
    await same(
      Shelf.objects
        .prefetchRelated("items")
        .annotate({ n: count("items") })
        .orderBy("id"),
    );
  });

  it("valuesList() and flat() give JSON lists of lists or of values", async () => {
    await Item.objects.create({ name: "a", serial: 5n, tags: ["x", null] as never, length: "P1D", data: null });
    const rows = Item.objects.orderBy("id");
    expect(await same(rows.valuesList("name", "serial", "tags", "length", "good"))).toEqual([
      ["a", "5", ["x", null], "P1D", true],
    ]);
    expect(await same(rows.flat("tags"))).toEqual([["x", null]]);
    expect(await same(rows.flat("data"))).toEqual([null]);
    expect(await same(rows.values("name", "shelf__label"))).toEqual([{ name: "a", shelf__label: null }]);
  });

  it("The JSON of a queryset can have distinct rows", async () => {
    await Item.objects.bulkCreate([
      { name: "a", tags: ["x"], made: new Date(0) },
      { name: "a", tags: ["x"], made: new Date(0) },
    ]);
    expect(await same(Item.objects.values("name", "tags", "made").distinct().orderBy("made"))).toHaveLength(1);
  });

  it("The JSON of rows is valid even if a column has another type than the model says", async () => {
    await Item.objects.create({ name: '7, "x": [', size: 0.5, serial: 5n, weight: "1.50" });
    const [row] = JSON.parse((await Mistaken.objects.json()).text) as unknown[];
    expect(row).toEqual({ id: 1, name: '7, "x": [', good: true, size: 0.5, serial: 5, weight: "1.50" });
  });
});

describe.skipIf(!service("postgres"))("moments of a session in another time zone", () => {
  it("Moments in JSON are in UTC also for a session in another time zone", async () => {
    const db = await openDatabase({ url: service("postgres")!, poolSize: 1 });
    try {
      await db.session(async (session) => {
        await session.script(
          "set timezone = 'Asia/Kolkata'; create temporary table items as select 1 as id, now() as made",
        );
        class Zoned extends Model("items", { id: field.auto(), made: field.datetime() }) {}
        const [row] = await Zoned.objects.using(session);
        expect((await Zoned.objects.using(session).json()).value()).toEqual([{ id: 1, made: row!.made.toISOString() }]);
        expect(Math.abs(Date.now() - row!.made.getTime())).toBeLessThan(60_000);
      });
    } finally {
      await db.close();
    }
  });
});
