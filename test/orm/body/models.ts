import { field, Model, softDelete, timestamps } from "stoa/orm";

export class Author extends Model("body_authors", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
}) {}

export class Book extends Model("body_books", {
  id: field.auto(),
  title: field.char({ maxLength: 200 }),
  author: field.foreignKey(() => Author),
  editor: field.foreignKey(() => Author, { null: true }),
  year: field.int({ null: true }),
  stock: field.int({ default: 0 }),
  isbn: field.text({ readOnly: true, null: true }),
  label: field.text({ generated: "title || '!'" }),
  ...timestamps(),
  ...softDelete(),
}) {}

/** One required field of each kind. */
export class Sample extends Model("body_samples", {
  id: field.bigAuto(),
  small: field.smallInt(),
  whole: field.int(),
  big: field.bigInt(),
  ratio: field.float(),
  price: field.decimal({ precision: 10, scale: 2 }),
  on: field.bool(),
  code: field.char({ maxLength: 3 }),
  text: field.text(),
  key: field.uuid(),
  data: field.json(),
  moment: field.datetime(),
  clock: field.datetime({ timezone: false }),
  day: field.date(),
  time: field.time(),
  zoned: field.time({ timezone: true }),
  span: field.interval(),
  raw: field.bytes(),
  tags: field.array(field.text()),
  counts: field.array(field.bigInt()),
  grid: field.array(field.array(field.int())),
  status: field.enum(["draft", "published"]),
  path: field.custom<string>({
    sqlType: "text",
    encode: (value) => {
      if (!/^[a-z.]+$/.test(value)) throw new Error(`${value} is no path`);
      return value;
    },
  }),
}) {}

/** A body that `Sample` takes as it is. */
export const sample = {
  small: 1,
  whole: 2,
  big: "9223372036854775807",
  ratio: 0.5,
  price: "12.50",
  on: true,
  code: "abc",
  text: "text",
  key: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
  data: { a: [1, null, "x"] },
  moment: "2024-01-31T12:34:56.789Z",
  clock: "2024-01-31T12:34:56",
  day: "2024-01-31",
  time: "12:34:56",
  zoned: "12:34:56+01:00",
  span: "P1DT2H",
  raw: "aGk=",
  tags: ["a", "b"],
  counts: ["1", 2],
  grid: [
    [1, 2],
    [3, 4],
  ],
  status: "draft",
  path: "a.b",
};
