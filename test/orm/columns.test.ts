import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../src/engines/db/errors.js";
import { field, Model } from "../../src/entry/orm.js";
import { service } from "../support/service.js";
import { describeDatabases, truncate } from "./databases.js";

class Everything extends Model("everything", {
  id: field.bigAuto(),
  small: field.smallInt({ null: true }),
  int: field.int({ null: true }),
  big: field.bigInt({ null: true }),
  float: field.float({ null: true }),
  decimal: field.decimal({ precision: 20, scale: 4, null: true }),
  anyDecimal: field.decimal({ null: true }),
  bool: field.bool({ null: true }),
  char: field.char({ maxLength: 5, null: true }),
  text: field.text({ null: true }),
  uuid: field.uuid({ null: true }),
  json: field.json({ null: true }),
  moment: field.datetime({ null: true }),
  clock: field.datetime({ timezone: false, null: true }),
  day: field.date({ null: true }),
  time: field.time({ null: true }),
  zoned: field.time({ timezone: true, null: true }),
  interval: field.interval({ null: true }),
  bytes: field.bytes({ null: true }),
  ints: field.array(field.int(), { null: true }),
  bigs: field.array(field.bigInt(), { null: true }),
  texts: field.array(field.text(), { null: true }),
  moments: field.array(field.datetime(), { null: true }),
  moods: field.array(field.enum(["sad", "glad"], { name: "mood" }), { null: true }),
  spans: field.array(field.interval(), { null: true }),
  mood: field.enum(["sad", "glad"], { name: "mood", null: true }),
  choice: field.enum(["a", "b'c"], { null: true }),
  point: field.custom<{ x: number; y: number }>(
    {
      sqlType: "point",
      encode: ({ x, y }) => `(${x},${y})`,
      decode: (text) => {
        const [x = 0, y = 0] = text.slice(1, -1).split(",").map(Number);
        return { x, y };
      },
      toJson: ({ x, y }) => `(${x},${y})`,
    },
    { null: true },
  ),
}) {}

class Precise extends Model("precise", {
  id: field.auto(),
  micro: field.datetime({ precision: 6 }),
  second: field.datetime({ precision: 0 }),
  clock: field.datetime({ precision: 1, timezone: false }),
}) {}

class Defaults extends Model("defaults", {
  id: field.uuid({ primaryKey: true, default: randomUUID }),
  made: field.uuid({ defaultSql: "gen_random_uuid()" }),
  count: field.int({ default: 7 }),
  big: field.bigInt({ default: 9_007_199_254_740_993n }),
  price: field.decimal({ precision: 6, scale: 2, default: "1.50" }),
  flag: field.bool({ default: true }),
  label: field.text({ default: "it's a \\ 'label'" }),
  data: field.json({ default: { a: [1, "x'y"] } }),
  list: field.array(field.text(), { default: ["a", 'b"c'] }),
  bytes: field.bytes({ default: new Uint8Array([0, 255]) }),
  day: field.date({ default: "2024-02-29" }),
  mood: field.enum(["x", "y"], { default: "y" }),
  twice: field.int({ generated: "count * 2" }),
}) {}

class Line extends Model(
  "order_lines",
  {
    order: field.int({ column: "order_number" }),
    line: field.int(),
    sku: field.char({ maxLength: 20 }),
    quantity: field.int({ check: "quantity > 0" }),
  },
  { schema: "shop", primaryKey: ["order", "line"], checks: ["line < 1000"], unique: [{ fields: ["order", "sku"] }] },
) {}

const models = [Everything, Precise, Defaults, Line];

/** Each column with values that must come back the same. */
const values: Record<string, unknown[]> = {
  small: [0, -32768, 32767],
  int: [0, -2147483648, 2147483647],
  big: [0n, -(2n ** 63n), 2n ** 63n - 1n, 9007199254740993n],
  float: [0, -1.5, 0.1, 1e300, 5e-324, Number.POSITIVE_INFINITY, Number.NaN],
  decimal: ["0.0000", "9007199254740993.1234", "-0.0001"],
  anyDecimal: ["0", "1.10", "123456789012345678901234567890.123456789"],
  bool: [true, false],
  char: ["", "abcde", "日本語"],
  text: ["", "a'b\"c\\d\n", "😀", "{}", "NULL", "$1"],
  uuid: ["00000000-0000-0000-0000-000000000000", "6f1b6f6e-6b1a-4a44-8a73-0f0c1f0b7a11"],
  json: [{}, [], [1, null, "x"], { a: { b: ["c'd", 'e"f', "\\"] } }, "text", 0, false],
  moment: [
    new Date(0),
    new Date("2024-02-29T12:34:56.789Z"),
    new Date("1900-01-01T00:00:00Z"),
    new Date("9999-12-31T23:59:59.999Z"),
    new Date("+010000-01-01T00:00:00Z"),
    new Date("-000044-03-15T00:00:00Z"),
  ],
  clock: ["2024-01-31T12:00:00", "2024-01-31T12:00:00.123456"],
  day: ["2024-02-29", "0001-01-01", "9999-12-31"],
  time: ["00:00:00", "23:59:59.123456"],
  zoned: ["12:00:00+02"],
  interval: ["P1Y2M3DT4H5M6.789S", "PT0S", "P1D", "PT1H", "P-1D", "PT-30M", "P1M"],
  bytes: [new Uint8Array(), new Uint8Array([0, 1, 92, 39, 255])],
  ints: [
    [],
    [1, 2],
    [
      [1, 2],
      [3, 4],
    ],
    [1, null],
  ],
  bigs: [[9007199254740993n, 1n]],
  texts: [
    ["a", "b,c", 'd"e', "f\\g", "NULL", "", "{x}", " "],
    ["a", null],
  ],
  moments: [[new Date(0), new Date("2024-01-01T00:00:00.001Z")]],
  moods: [["sad", "glad"]],
  spans: [["P1D", "PT1H"]],
  mood: ["glad"],
  choice: ["a", "b'c"],
  point: [{ x: 1, y: -2.5 }],
};

describeDatabases("columns", service("postgres"), models, (db) => {
  beforeEach(() => truncate(db(), models));

  describe.each(Object.entries(values))("a column of kind %s", (name, samples) => {
    it("A column holds its values without loss, however they are written", async () => {
      for (const value of [...samples, null]) {
        const created = await Everything.objects.create({ [name]: value } as never);
        const [bulk] = await Everything.objects.bulkCreate([{ [name]: value } as never]);
        const updated = await Everything.objects.create({});
        await Everything.objects.filter({ id: updated.id }).update({ [name]: value } as never);
        const many = await Everything.objects.create({});
        Object.assign(many, { [name]: value });
        await Everything.objects.bulkUpdate([many], [name as never]);
        const ids = [created.id, bulk!.id, updated.id, many.id];
        expect(plain((created as never)[name])).toEqual(plain(value));
        for (const row of await Everything.objects.filter({ id__in: ids })) {
          expect(plain((row as never)[name])).toEqual(plain(value));
          await row.save();
        }
        const listed = await Everything.objects.filter({ id__in: ids }).flat(name as never);
        expect(listed.map(plain)).toEqual(ids.map(() => plain(value)));
      }
    });

    it("A row is found by the value of its column", async () => {
      if (["float", "point", "json"].includes(name)) return;
      for (const value of samples) {
        const { id } = await Everything.objects.create({ [name]: value } as never);
        expect(await Everything.objects.filter({ [name]: value, id } as never).count()).toBe(1);
        if (!Array.isArray(value))
          expect(await Everything.objects.filter({ [`${name}__in`]: [value], id } as never).count()).toBe(1);
      }
    });

    it("The JSON of PostgreSQL and of JavaScript is the same for a column", async () => {
      await Everything.objects.bulkCreate([...samples, null].map((value) => ({ [name]: value }) as never));
      const rows = Everything.objects.orderBy("id");
      const written = JSON.parse((await rows.json()).text) as unknown;
      expect(written).toEqual(JSON.parse(JSON.stringify(await rows)));
      const selected = rows.values("id", name as never);
      expect(JSON.parse((await selected.json()).text).map((row: Record<string, unknown>) => row[name])).toEqual(
        (written as Record<string, unknown>[]).map((row) => row[name]),
      );
    });
  });

  it("JSON contains big integers and decimals as strings, and dates in ISO 8601", async () => {
    await Everything.objects.create({
      big: 2n ** 60n + 1n,
      decimal: "10.10",
      moment: new Date("2024-01-02T03:04:05.6Z"),
      bytes: new Uint8Array([1, 2]),
      day: "2024-01-02",
      interval: "P1D",
    });
    const [row] = JSON.parse((await Everything.objects.json()).text) as Record<string, unknown>[];
    expect(row).toMatchObject({
      id: "1",
      big: "1152921504606846977",
      decimal: "10.1000",
      moment: "2024-01-02T03:04:05.600Z",
      bytes: "AQI=",
      day: "2024-01-02",
      interval: "P1D",
    });
  });

  it.each([
    ["small", 32768, ParameterRangeError],
    ["int", 2 ** 31, ParameterRangeError],
    ["int", 1.5, ParameterTypeError],
    ["int", "x", ParameterTypeError],
    ["int", true, ParameterTypeError],
    ["big", 2n ** 63n, ParameterRangeError],
    ["big", 2 ** 53 + 2, ParameterRangeError],
    ["big", "1.5", ParameterTypeError],
    ["float", "x", ParameterTypeError],
    ["decimal", "1,5", ParameterTypeError],
    ["decimal", Number.NaN, ParameterTypeError],
    ["bool", "true", ParameterTypeError],
    ["text", 5, ParameterTypeError],
    ["text", "a\0", ParameterValueError],
    ["uuid", "x", ParameterValueError],
    ["json", { a: "\0" }, ParameterValueError],
    ["json", () => 1, ParameterTypeError],
    ["moment", "soon", ParameterValueError],
    ["moment", 5, ParameterTypeError],
    ["clock", new Date(), ParameterTypeError],
    ["day", "31.1.2024", ParameterValueError],
    ["time", "noon", ParameterValueError],
    ["bytes", "x", ParameterTypeError],
    ["ints", 5, ParameterTypeError],
    ["ints", ["x"], ParameterTypeError],
    ["choice", "c", ParameterValueError],
  ])("A column of kind %s refuses %s before anything is sent", async (name, value, error) => {
    await expect(Everything.objects.create({ [name]: value } as never)).rejects.toThrow(error);
    await expect(Everything.objects.create({ [name]: value } as never)).rejects.toThrow(`Everything.${name}: `);
    expect(await Everything.objects.count()).toBe(0);
  });

  it("Columns have defaults of values, functions and SQL, in the database if it can express them", async () => {
    const row = await Defaults.objects.create({});
    expect(row.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(row.made).toMatch(/^[0-9a-f-]{36}$/);
    expect({ ...row }).toMatchObject({
      count: 7,
      big: 9007199254740993n,
      price: "1.50",
      flag: true,
      label: "it's a \\ 'label'",
      data: { a: [1, "x'y"] },
      list: ["a", 'b"c'],
      day: "2024-02-29",
      mood: "y",
      twice: 14,
    });
    expect([...row.bytes]).toEqual([0, 255]);
    await db().execute("insert into defaults (id) values (gen_random_uuid())");
    expect(await Defaults.objects.filter({ label: "it's a \\ 'label'", twice: 14 }).count()).toBe(2);
    await expect(Defaults.objects.create({ twice: 1 } as never)).rejects.toThrow(/computed by the database/);
  });

  it("Columns keep as many digits of a second as the model says", async () => {
    await db().execute(
      "insert into precise (micro, second, clock) values ('2024-01-31T12:00:00.123456Z', '2024-01-31T12:00:00.7Z', '2024-01-31T12:00:00.16')",
    );
    const row = await Precise.objects.get({ second: "2024-01-31T12:00:01Z" });
    expect(row.micro.toISOString()).toBe("2024-01-31T12:00:00.123Z");
    expect(row.clock).toBe("2024-01-31T12:00:00.2");
    expect(JSON.parse((await Precise.objects.json()).text)).toEqual(JSON.parse(JSON.stringify([row])));
    expect(await Precise.objects.filter({ micro: "2024-01-31T12:00:00.123456Z" }).count()).toBe(1);
    expect(() => field.datetime({ precision: 7 })).toThrow("precision");
  });

  it("A model can have a composite key and a schema of its own", async () => {
    await Line.objects.bulkCreate([
      { order: 1, line: 1, sku: "a", quantity: 1 },
      { order: 1, line: 2, sku: "b", quantity: 2 },
    ]);
    const line = await Line.objects.get({ order: 1, line: 2 });
    expect(line.pk).toEqual([1, 2]);
    line.quantity = 5;
    await line.save();
    expect(await Line.objects.orderBy("line").flat("quantity")).toEqual([1, 5]);
    expect(await Line.objects.orderBy("-line").limit(1).update({ quantity: 9 })).toBe(1);
    await Line.objects.bulkUpdate([line], ["quantity"]);
    await line.delete();
    expect(await Line.objects.count()).toBe(1);
    expect((await Line.objects.first())?.line).toBe(1);
    await expect(Line.objects.create({ order: 1, line: 1, sku: "z", quantity: 1 })).rejects.toMatchObject({
      name: "UniqueViolation",
    });
    await expect(Line.objects.create({ order: 1, line: 3, sku: "z", quantity: 0 })).rejects.toMatchObject({
      name: "CheckViolation",
    });
  });
});

/** Bytes as a list: drivers give a Buffer, which is no equal of a Uint8Array. */
function plain(value: unknown): unknown {
  return value instanceof Uint8Array ? [...value] : value;
}
