import { field, Model, mix, timestamps } from "stoa/orm";

/** A column of every type, and every option that a table can have. */

export class Everything extends Model("everything", {
  id: field.bigAuto(),
  small: field.smallInt({ default: -1 }),
  count: field.int({ default: 7, check: "count > 0 and count < 1000" }),
  big: field.bigInt({ default: 9_007_199_254_740_993n }),
  ratio: field.float({ default: 0.5 }),
  price: field.decimal({ precision: 10, scale: 2, default: "1.50" }),
  whole: field.decimal({ precision: 5, null: true }),
  anyDecimal: field.decimal({ null: true }),
  flag: field.bool({ default: true }),
  code: field.char({ maxLength: 5, unique: true, collation: "C" }),
  label: field.text({ default: "it's a \\ 'label'", index: true }),
  key: field.uuid({ defaultSql: "gen_random_uuid()" }),
  data: field.json({ default: { a: [1, "x'y"] } }),
  empty: field.json({ default: {} }),
  moment: field.datetime({ defaultSql: "now() + interval '1 day'" }),
  clock: field.datetime({ timezone: false, null: true }),
  day: field.date({ default: "2024-02-29" }),
  time: field.time({ null: true }),
  zoned: field.time({ timezone: true, null: true }),
  span: field.interval({ default: "P1DT2H" }),
  bytes: field.bytes({ default: new Uint8Array([0, 255]) }),
  list: field.array(field.text(), { default: ["a", 'b"c'] }),
  none: field.array(field.char({ maxLength: 9 }), { default: [] }),
  matrix: field.array(field.array(field.int()), { null: true }),
  moments: field.array(field.datetime(), { null: true }),
  mood: field.enum(["sad", "so so", "glad's"], { name: "mood", default: "glad's" }),
  moods: field.array(field.enum(["sad", "so so", "glad's"], { name: "mood" }), { null: true }),
  choice: field.enum(["a", "b'c"], { default: "a" }),
  single: field.enum(["only"], { null: true }),
  point: field.custom<string>({ sqlType: "point" }, { null: true }),
  search: field.searchVector({ generated: "to_tsvector('simple', label)", index: true }),
  twice: field.int({ generated: "count * 2", null: true, comment: 'twice `the` "count"\n*/ $\u{7b}count}' }),
}) {}

export class Order extends Model(
  "orders",
  mix(timestamps(), {
    number: field.uuid({ primaryKey: true, defaultSql: "gen_random_uuid()" }),
    customer: field.text(),
    get lines() {
      return field.reverse(() => Line, "order");
    },
  }),
  { schema: "shop", comment: "What was ordered" },
) {}

export class Line extends Model(
  "lines",
  {
    order: field.foreignKey(() => Order, { onDelete: "restrict", onUpdate: "cascade", deferred: true, index: false }),
    number: field.int(),
    sku: field.text(),
    note: field.text({ null: true }),
    kind: field.foreignKey(() => Kind, { null: true, onDelete: "set null", to: "code", column: "kind" }),
  },
  {
    schema: "shop",
    primaryKey: ["order", "number"],
    unique: [["order", "sku"], { fields: ["note"], name: "one_note", nullsNotDistinct: true }],
    indexes: [
      ["sku"],
      { fields: ["-sku", "note"], include: ["number"], where: "number > 1 and note is not null" },
      { expressions: ["lower(sku)", "number + 1"], name: "lines_odd", unique: true },
      { fields: ["sku"], method: "hash", name: "lines_hash" },
      { fields: ["note"], operatorClass: "text_pattern_ops", name: "lines_pattern" },
    ],
    checks: ["number > 0", { name: "lines_sku", sql: "lines.sku in ('a', 'b') or length(sku) between 2 and 9" }],
  },
) {}

export class Kind extends Model("kinds", {
  id: field.auto(),
  code: field.char({ maxLength: 10, unique: true, column: "CODE" }),
  get parent() {
    return field.foreignKey(() => Kind, { null: true, onDelete: "no action" });
  },
  get alike() {
    return field.manyToMany(() => Kind);
  },
}) {}

export class Parcel extends Model(
  "parcels",
  {
    id: field.auto(),
    orderNumber: field.uuid(),
    lineNumber: field.int({ null: true }),
    sku: field.text({ null: true }),
    line: field.compositeForeignKey(() => Line, ["orderNumber", "lineNumber"], {
      null: true,
      onDelete: "set null",
      onUpdate: "cascade",
      setNull: ["lineNumber"],
    }),
    bySku: field.compositeForeignKey(() => Line, ["orderNumber", "sku"], {
      references: ["order", "sku"],
      null: true,
      unique: true,
      onDelete: "no action",
      deferred: true,
    }),
  },
  { schema: "shop" },
) {}

export class Seal extends Model(
  "seals",
  {
    order: field.foreignKey(() => Order),
    number: field.int(),
    line: field.compositeForeignKey(() => Line, ["order", "number"], { index: false }),
  },
  { schema: "shop", primaryKey: ["number", "order"] },
) {}

export const everything = [Everything, Order, Line, Kind, Parcel, Seal];
