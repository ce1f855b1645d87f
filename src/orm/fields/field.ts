import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { checkIdentifier } from "../identifiers.js";
import * as columnTypes from "./column-types.js";
import { checkTarget, column, customField, define, jsonField, toOne, toOneOver } from "./define.js";
import {
  type CompositeOptions,
  FieldDefinition,
  type FieldOptions,
  type ManyToManyOptions,
  type NumberOptions,
  type RelationOptions,
  type TextOptions,
  type TimeOptions,
} from "./definition.js";
import * as read from "./field-options.js";
import type {
  AllCharOptions,
  AutoOptions,
  CharLength,
  CustomMaker,
  DatetimeOptions,
  DecimalOptions,
  EnumOptions,
  Exact,
  FlagsFrom,
  JsonMaker,
  ManualColumn,
  None,
  ReferencesIn,
} from "./field-types.js";
import type { Column, Flag, InOf, OutOf, ReverseOne, ToMany, ToOne, ToOneOver } from "./types.js";

/** Functions that create fields. Each takes an options object. */
export const field = {
  /** A primary key numbered by the database, 32 bits. */
  auto: <const O extends AutoOptions = None>(
    options?: Exact<O, AutoOptions>,
  ): Column<number, number, "primary" | "optional" | "readOnly", "int"> =>
    column(columnTypes.int, { primaryKey: true, ...read.ofAuto("field.auto", options) }, { auto: true }),

  /** A primary key numbered by the database, 64 bits. */
  bigAuto: <const O extends AutoOptions = None>(
    options?: Exact<O, AutoOptions>,
  ): Column<bigint, bigint | number, "primary" | "optional" | "readOnly", "bigInt"> =>
    column(columnTypes.bigInt, { primaryKey: true, ...read.ofAuto("field.bigAuto", options) }, { auto: true }),

  /**
   * The version of a row: 1 at first, one more with each update. `save()` and `delete()` of an instance whose row was
   * changed in the meantime throw `StaleError` and write nothing.
   */
  version: <const O extends AutoOptions = None>(
    options?: Exact<O, AutoOptions>,
  ): Column<number, number, "optional" | "readOnly", "int"> =>
    column(
      columnTypes.int,
      { readOnly: true, default: 1, ...read.ofAuto("field.version", options) },
      { version: true },
    ),

  /** A whole number of 16 bits (`smallint`). */
  smallInt: <const O extends NumberOptions<number> = None>(
    options?: Exact<O, NumberOptions<number>>,
  ): ManualColumn<number, number, O, "int"> => column(columnTypes.smallInt, read.ofNumber("field.smallInt", options)),

  /** A whole number of 32 bits (`integer`). */
  int: <const O extends NumberOptions<number> = None>(
    options?: Exact<O, NumberOptions<number>>,
  ): ManualColumn<number, number, O, "int"> => column(columnTypes.int, read.ofNumber("field.int", options)),

  /** 64 bits: a `bigint`. */
  bigInt: <const O extends NumberOptions<bigint | number, bigint> = None>(
    options?: Exact<O, NumberOptions<bigint | number, bigint>>,
  ): ManualColumn<bigint, bigint | number, O, "bigInt"> =>
    column(columnTypes.bigInt, read.ofNumber("field.bigInt", options)),

  /** A number with a fraction, 64 bits (`double precision`). It is rounded: use `decimal` for money. */
  float: <const O extends NumberOptions<number> = None>(
    options?: Exact<O, NumberOptions<number>>,
  ): ManualColumn<number, number, O, "float"> => column(columnTypes.float, read.ofNumber("field.float", options)),

  /**
   * An exact decimal with `precision` digits, `scale` of them after the point. Its values are strings, because numbers would
   * be rounded.
   */
  decimal: <const O extends DecimalOptions = None>(
    options?: Exact<O, DecimalOptions>,
  ): ManualColumn<string, string | number | bigint, O, "decimal"> => {
    const { precision, scale, ...rest } = read.ofDecimal("field.decimal", options);
    if (precision === undefined && scale !== undefined)
      throw new ValueError("field.decimal needs 'precision' with 'scale'");
    return column(columnTypes.decimal(precision, scale), rest);
  },

  /** True or false (`boolean`). */
  bool: <const O extends FieldOptions<boolean> = None>(
    options?: Exact<O, FieldOptions<boolean>>,
  ): ManualColumn<boolean, boolean, O, "bool"> => column(columnTypes.bool, read.plain("field.bool", options)),

  /** Text of at most `maxLength` characters. */
  char: <const O extends AllCharOptions & CharLength>(
    options: Exact<O, AllCharOptions>,
  ): ManualColumn<string, string, O, "text"> => {
    const { maxLength, ...rest } = read.ofChar("field.char", options);
    if (maxLength === undefined)
      throw new ValueError("option 'maxLength' is required in field.char; use field.text for text without a limit");
    return column(columnTypes.char(maxLength), rest);
  },

  /** Text of any length (`text`). */
  text: <const O extends TextOptions = None>(
    options?: Exact<O, TextOptions>,
  ): ManualColumn<string, string, O, "text"> => column(columnTypes.text, read.ofText("field.text", options)),

  /** A UUID, as a string (`uuid`). */
  uuid: <const O extends FieldOptions<string> = None>(
    options?: Exact<O, FieldOptions<string>>,
  ): ManualColumn<string, string, O, "uuid"> => column(columnTypes.uuid, read.plain("field.uuid", options)),

  /** Any JSON value (`jsonb`). `field.json<Settings>()` sets its type for the compiler; the database does not check it. */
  json: jsonField as JsonMaker,

  /**
   * A point in time, as a `Date`; PostgreSQL's `infinity` is the number `Infinity`. With `timezone: false`, a local date and
   * time, as a string. `precision` is the number of digits after the seconds: 3 by default, 6 with `timezone: false`.
   */
  datetime: <const O extends DatetimeOptions = None>(
    options?: Exact<O, DatetimeOptions>,
  ): O extends { readonly timezone: false }
    ? ManualColumn<string, string, O, "local">
    : ManualColumn<Date, Date | string, O, "datetime"> => {
    const { timezone, precision, ...rest } = read.ofDatetime("field.datetime", options);
    const type =
      timezone === false ? columnTypes.localDatetimeOf(precision ?? 6) : columnTypes.datetimeOf(precision ?? 3);
    return column(type, rest);
  },

  /** A day: a string such as `2024-01-31`. */
  date: <const O extends TimeOptions<string> = None>(
    options?: Exact<O, TimeOptions<string>>,
  ): ManualColumn<string, string | Date, O, "date"> => column(columnTypes.date, read.ofTime("field.date", options)),

  /** A time of day: a string such as `12:34:56`. */
  time: <const O extends FieldOptions<string> & { readonly timezone?: boolean } = None>(
    options?: Exact<O, FieldOptions<string> & { readonly timezone?: boolean }>,
  ): ManualColumn<string, string, O, "time"> => {
    const { timezone, ...rest } = read.ofZonedTime("field.time", options);
    return column(timezone === true ? columnTypes.zonedTime : columnTypes.time, rest);
  },

  /** A duration in ISO 8601: `P1DT2H`. */
  interval: <const O extends FieldOptions<string> = None>(
    options?: Exact<O, FieldOptions<string>>,
  ): ManualColumn<string, string, O, "interval"> => column(columnTypes.interval, read.plain("field.interval", options)),

  /** Binary data (`bytea`), as a `Uint8Array`. */
  bytes: <const O extends FieldOptions<Uint8Array> = None>(
    options?: Exact<O, FieldOptions<Uint8Array>>,
  ): ManualColumn<Uint8Array, Uint8Array, O, "bytes"> => column(columnTypes.bytes, read.plain("field.bytes", options)),

  /** A list; the field gives the type of its items. */
  array: <
    Item extends Column<unknown, unknown, Flag, string>,
    const O extends FieldOptions<readonly InOf<Item>[], OutOf<Item>[]> = None,
  >(
    item: Item,
    options?: Exact<O, FieldOptions<readonly InOf<Item>[], OutOf<Item>[]>>,
  ): ManualColumn<OutOf<Item>[], readonly InOf<Item>[], O, "array"> => {
    const spec = item instanceof FieldDefinition ? item.spec : undefined;
    if (spec?.form !== "column")
      throw new ValueError(`field.array takes a field such as field.int(), not ${show(item)}`);
    return column(columnTypes.array(spec.type), read.plain("field.array", options));
  },

  /** One of the given strings. With `name`, an enum type of the database; otherwise text with a check. */
  enum: <const Values extends readonly [string, ...string[]], const O extends EnumOptions<Values[number]> = None>(
    values: Values,
    options?: Exact<O, EnumOptions<Values[number]>>,
  ): ManualColumn<Values[number], Values[number], O, "enum"> => {
    const { name, ...rest } = read.ofEnum("field.enum", options);
    const wrong = values.find((value) => typeof value !== "string" || value === "");
    if (values.length === 0 || wrong !== undefined)
      throw new ValueError("field.enum takes a list of non-empty strings");
    if (new Set(values).size !== values.length) throw new ValueError("field.enum has the same value twice");
    return column(columnTypes.enumeration([...values], name), rest);
  },

  /** A vector for full text search, usually `generated` from other columns. */
  searchVector: <const O extends FieldOptions<string> = None>(
    options?: Exact<O, FieldOptions<string>>,
  ): ManualColumn<string, string, O, "searchVector"> =>
    column(columnTypes.searchVector, {
      hidden: true,
      readOnly: true,
      ...read.plain("field.searchVector", options),
    }),

  /** Any other type of the database. */
  custom: customField as CustomMaker,

  /** A reference to one row of another model, or of the same model. */
  foreignKey: <Target, const O extends RelationOptions = None>(
    target: () => Target,
    options?: Exact<O, RelationOptions>,
  ): ToOne<Target, FlagsFrom<O>> => toOne("field.foreignKey", target, options, false),

  /** A unique reference: no two rows refer to the same row. */
  oneToOne: <Target, const O extends RelationOptions = None>(
    target: () => Target,
    options?: Exact<O, RelationOptions>,
  ): ToOne<Target, FlagsFrom<O>> => toOne("field.oneToOne", target, options, true),

  /** A reference to one row by several fields of this model, for a model with a composite key. */
  compositeForeignKey: <
    Target,
    const Fields extends readonly [string, string, ...string[]],
    const O extends CompositeOptions = None,
  >(
    target: () => Target,
    fields: Fields,
    options?: Exact<O, CompositeOptions>,
  ): ToOneOver<Target, FlagsFrom<O>, Fields[number], ReferencesIn<O>> => toOneOver(target, fields, options),

  /** A many-to-many relation through a join table. */
  manyToMany: <Target>(target: () => Target, options?: ManyToManyOptions): ToMany<Target> => {
    checkTarget("field.manyToMany", target);
    const given = read.ofManyToMany("field.manyToMany", options);
    return define({ form: "manyToMany", target, options: given });
  },

  /** The reverse of a foreign key or many-to-many relation: the rows of another model whose field `via` refers to this one. */
  reverse: <Target, const Via extends string>(target: () => Target, via: Via): ToMany<Target, Via> => {
    checkTarget("field.reverse", target);
    return define({ form: "reverse", target, via: checkIdentifier("the field of field.reverse", via), one: false });
  },

  /** The reverse of a one-to-one relation: a row, or null. */
  reverseOne: <Target, const Via extends string>(target: () => Target, via: Via): ReverseOne<Target, Via> => {
    checkTarget("field.reverseOne", target);
    return define({ form: "reverse", target, via: checkIdentifier("the field of field.reverseOne", via), one: true });
  },
};
