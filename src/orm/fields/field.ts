import type { SnakeCase } from "../../internal/names.js";
import { type Checks, checkOption, is, readOptions, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { checkIdentifier } from "../identifiers.js";
import type { ColumnType } from "../meta.js";
import * as columnTypes from "./column-types.js";
import {
  FieldDefinition,
  type FieldOptions,
  type FieldSpec,
  type ManyToManyOptions,
  type RelationOptions,
  type TextOptions,
  type TimeOptions,
} from "./definition.js";
import type { Column, Flag, InOf, OutOf, ReverseOne, ToMany, ToOne } from "./types.js";

type None = Record<never, never>;

/** The options, if every key is known. `O` is inferred, so the compiler does not report unknown keys by itself. */
type Exact<O, Options> = O & { readonly [K in Exclude<keyof O, keyof Options>]: never };

/** The options that give flags to a column, with the values that do. */
interface Flagging {
  null: true;
  primaryKey: true;
  generated: string;
  readOnly: true;
  autoNow: true;
  autoNowAdd: true;
  // biome-ignore lint/complexity/noBannedTypes: any value except undefined.
  default: {} | null;
  defaultSql: string;
}

interface FlagsBy {
  null: "null" | "optional";
  primaryKey: "primary";
  generated: "optional" | "locked";
  readOnly: "readOnly";
  autoNow: "readOnly" | "optional";
  autoNowAdd: "readOnly" | "optional";
  default: "optional";
  defaultSql: "optional";
}

/** The flags that the options give to a column. */
type FlagsFrom<O> = {
  [K in keyof O]-?: K extends keyof Flagging ? (O[K] extends Flagging[K] ? FlagsBy[K] : never) : never;
}[keyof O];

/** Any value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

type CharLength = { readonly maxLength: number } | { readonly [K in SnakeCase<"maxLength">]: number };
type AllCharOptions = TextOptions & { readonly maxLength?: number; readonly max_length?: number };

type ManualColumn<Out, In, O, Kind extends string> = Column<Out, In, FlagsFrom<O>, Kind>;

export interface CustomType<Out, In = Out> {
  /** The type in the database: `ltree`, `geometry(Point, 4326)`. */
  readonly sqlType: string;
  /** Converts a value to a parameter. */
  readonly encode?: (value: In) => unknown;
  /** Converts the text that PostgreSQL returns to a value. */
  readonly decode?: (text: string) => Out;
  /** Converts a value to JSON. JSON built by PostgreSQL has the text of the type. */
  readonly toJson?: (value: Out) => unknown;
}

/** Functions that create fields. Each takes an options object. */
export const field = {
  /** A primary key numbered by the database, 32 bits. */
  auto: <const O extends AutoOptions = None>(
    options?: Exact<O, AutoOptions>,
  ): Column<number, number, "primary" | "optional" | "readOnly", "int"> =>
    column(columnTypes.int, { primaryKey: true, ...read("field.auto", options, autoChecks) }, { auto: true }),

  /** A primary key numbered by the database, 64 bits. */
  bigAuto: <const O extends AutoOptions = None>(
    options?: Exact<O, AutoOptions>,
  ): Column<bigint, bigint | number, "primary" | "optional" | "readOnly", "bigInt"> =>
    column(columnTypes.bigInt, { primaryKey: true, ...read("field.bigAuto", options, autoChecks) }, { auto: true }),

  smallInt: <const O extends FieldOptions<number> = None>(
    options?: Exact<O, FieldOptions<number>>,
  ): ManualColumn<number, number, O, "int"> =>
    column(columnTypes.smallInt, read("field.smallInt", options, commonChecks)),

  int: <const O extends FieldOptions<number> = None>(
    options?: Exact<O, FieldOptions<number>>,
  ): ManualColumn<number, number, O, "int"> => column(columnTypes.int, read("field.int", options, commonChecks)),

  /** 64 bits: a `bigint`. */
  bigInt: <const O extends FieldOptions<bigint | number> = None>(
    options?: Exact<O, FieldOptions<bigint | number>>,
  ): ManualColumn<bigint, bigint | number, O, "bigInt"> =>
    column(columnTypes.bigInt, read("field.bigInt", options, commonChecks)),

  float: <const O extends FieldOptions<number> = None>(
    options?: Exact<O, FieldOptions<number>>,
  ): ManualColumn<number, number, O, "float"> => column(columnTypes.float, read("field.float", options, commonChecks)),

  /** An exact decimal with `precision` digits, `scale` of them after the point. Its values are strings, because numbers would be rounded. */
  decimal: <const O extends DecimalOptions = None>(
    options?: Exact<O, DecimalOptions>,
  ): ManualColumn<string, string | number | bigint, O, "decimal"> => {
    const { precision, scale, ...rest } = readOptions<DecimalOptions>("field.decimal", options, decimalChecks);
    if (precision === undefined && scale !== undefined)
      throw new ValueError("field.decimal needs 'precision' with 'scale'");
    return column(columnTypes.decimal(precision, scale), rest);
  },

  bool: <const O extends FieldOptions<boolean> = None>(
    options?: Exact<O, FieldOptions<boolean>>,
  ): ManualColumn<boolean, boolean, O, "bool"> => column(columnTypes.bool, read("field.bool", options, commonChecks)),

  /** Text of at most `maxLength` characters. */
  char: <const O extends AllCharOptions & CharLength>(
    options: Exact<O, AllCharOptions>,
  ): ManualColumn<string, string, O, "text"> => {
    const { maxLength, ...rest } = readOptions<TextOptions & { maxLength: number }>("field.char", options, charChecks);
    if (maxLength === undefined)
      throw new ValueError("option 'maxLength' is required in field.char; use field.text for text without a limit");
    return column(columnTypes.char(maxLength), rest);
  },

  text: <const O extends TextOptions = None>(
    options?: Exact<O, TextOptions>,
  ): ManualColumn<string, string, O, "text"> => column(columnTypes.text, read("field.text", options, textChecks)),

  uuid: <const O extends FieldOptions<string> = None>(
    options?: Exact<O, FieldOptions<string>>,
  ): ManualColumn<string, string, O, "uuid"> => column(columnTypes.uuid, read("field.uuid", options, commonChecks)),

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
    const { timezone, precision, ...rest } = readOptions<DatetimeOptions>("field.datetime", options, datetimeChecks);
    const type =
      timezone === false ? columnTypes.localDatetimeOf(precision ?? 6) : columnTypes.datetimeOf(precision ?? 3);
    return column(type, rest);
  },

  /** A day: a string such as `2024-01-31`. */
  date: <const O extends TimeOptions<string> = None>(
    options?: Exact<O, TimeOptions<string>>,
  ): ManualColumn<string, string | Date, O, "date"> =>
    column(columnTypes.date, read("field.date", options, timeChecks)),

  /** A time of day: a string such as `12:34:56`. */
  time: <const O extends FieldOptions<string> & { readonly timezone?: boolean } = None>(
    options?: Exact<O, FieldOptions<string> & { readonly timezone?: boolean }>,
  ): ManualColumn<string, string, O, "time"> => {
    const { timezone, ...rest } = readOptions<FieldOptions<string> & { timezone: boolean }>(
      "field.time",
      options,
      zoneChecks,
    );
    return column(timezone === true ? columnTypes.zonedTime : columnTypes.time, rest);
  },

  /** A duration in ISO 8601: `P1DT2H`. */
  interval: <const O extends FieldOptions<string> = None>(
    options?: Exact<O, FieldOptions<string>>,
  ): ManualColumn<string, string, O, "interval"> =>
    column(columnTypes.interval, read("field.interval", options, commonChecks)),

  bytes: <const O extends FieldOptions<Uint8Array> = None>(
    options?: Exact<O, FieldOptions<Uint8Array>>,
  ): ManualColumn<Uint8Array, Uint8Array, O, "bytes"> =>
    column(columnTypes.bytes, read("field.bytes", options, commonChecks)),

  /** A list; the field gives the type of its items. */
  array: <
    Item extends Column<unknown, unknown, Flag, string>,
    const O extends FieldOptions<readonly InOf<Item>[]> = None,
  >(
    item: Item,
    options?: Exact<O, FieldOptions<readonly InOf<Item>[]>>,
  ): ManualColumn<OutOf<Item>[], readonly InOf<Item>[], O, "array"> => {
    const spec = item instanceof FieldDefinition ? item.spec : undefined;
    if (spec?.form !== "column")
      throw new ValueError(`field.array takes a field such as field.int(), not ${show(item)}`);
    return column(columnTypes.array(spec.type), read("field.array", options, commonChecks));
  },

  /** One of the given strings. With `name`, an enum type of the database; otherwise text with a check. */
  enum: <const Values extends readonly [string, ...string[]], const O extends EnumOptions<Values[number]> = None>(
    values: Values,
    options?: Exact<O, EnumOptions<Values[number]>>,
  ): ManualColumn<Values[number], Values[number], O, "enum"> => {
    const { name, ...rest } = readOptions<EnumOptions<string>>("field.enum", options, enumChecks);
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
      ...read("field.searchVector", options, commonChecks),
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

  /** A many-to-many relation through a join table. */
  manyToMany: <Target>(target: () => Target, options?: ManyToManyOptions): ToMany<Target> => {
    checkTarget("field.manyToMany", target);
    const given = readOptions<ManyToManyOptions>("field.manyToMany", options, manyToManyChecks);
    return define({ form: "manyToMany", target, options: given });
  },

  /** The reverse of a foreign key or many-to-many relation: the rows of another model whose field `via` refers to this one. */
  reverse: <Target>(target: () => Target, via: string): ToMany<Target> => {
    checkTarget("field.reverse", target);
    return define({ form: "reverse", target, via: checkIdentifier("the field of field.reverse", via), one: false });
  },

  /** The reverse of a one-to-one relation: a row, or null. */
  reverseOne: <Target>(target: () => Target, via: string): ReverseOne<Target> => {
    checkTarget("field.reverseOne", target);
    return define({ form: "reverse", target, via: checkIdentifier("the field of field.reverseOne", via), one: true });
  },
};

type AutoOptions = Pick<FieldOptions<number>, "column" | "comment" | "renamedFrom" | "hidden">;
type DecimalOptions = FieldOptions<string | number | bigint> & { readonly precision?: number; readonly scale?: number };
type DatetimeOptions = TimeOptions<Date | string> & { readonly timezone?: boolean; readonly precision?: number };
type EnumOptions<In> = FieldOptions<In> & { readonly name?: string };

/**
 * If the type is given, as in `field.json<T>()`, the compiler cannot infer the options as well. The overloads cover
 * them instead.
 */
export interface JsonMaker {
  <T = Json>(options: FieldOptions<T> & { readonly null: true }): Column<T, T, "null" | "optional", "json">;
  <T = Json>(
    options: FieldOptions<T> & ({ readonly default: T | (() => T) } | { readonly defaultSql: string }),
  ): Column<T, T, "optional", "json">;
  <T = Json>(options?: FieldOptions<T> & { readonly null?: false }): Column<T, T, never, "json">;
}

export interface CustomMaker {
  <Out, In = Out>(
    type: CustomType<Out, In>,
    options: FieldOptions<In> & { readonly null: true },
  ): Column<Out, In, "null" | "optional", "custom">;
  <Out, In = Out>(
    type: CustomType<Out, In>,
    options: FieldOptions<In> & ({ readonly default: In | (() => In) } | { readonly defaultSql: string }),
  ): Column<Out, In, "optional", "custom">;
  <Out, In = Out>(
    type: CustomType<Out, In>,
    options?: FieldOptions<In> & { readonly null?: false },
  ): Column<Out, In, never, "custom">;
}

function customField(type: CustomType<unknown>, options?: FieldOptions<unknown>): unknown {
  return column(customType(type), read("field.custom", options, commonChecks));
}

function jsonField(options?: FieldOptions<unknown>): unknown {
  return column(columnTypes.json, read("field.json", options, commonChecks));
}

const commonChecks: Checks<FieldOptions<unknown>> = {
  null: is.boolean,
  default: is.anything,
  defaultSql: is.text,
  unique: is.boolean,
  index: is.boolean,
  primaryKey: is.boolean,
  column: is.text,
  readOnly: is.boolean,
  hidden: is.boolean,
  check: is.text,
  generated: is.text,
  comment: is.string,
  renamedFrom: is.text,
};
const textChecks: Checks<TextOptions> = { ...commonChecks, collation: is.text };
const charChecks: Checks<TextOptions & { maxLength: number }> = { ...textChecks, maxLength: is.integer(1, 10_485_760) };
const decimalChecks: Checks<DecimalOptions> = {
  ...commonChecks,
  precision: is.integer(1, 1000),
  scale: is.integer(0, 1000),
};
const timeChecks: Checks<TimeOptions<unknown>> = { ...commonChecks, autoNow: is.boolean, autoNowAdd: is.boolean };
const datetimeChecks: Checks<DatetimeOptions> = {
  ...timeChecks,
  timezone: is.boolean,
  precision: is.integer(0, 6),
};
const zoneChecks: Checks<FieldOptions<string> & { timezone: boolean }> = { ...commonChecks, timezone: is.boolean };
const enumChecks: Checks<EnumOptions<string>> = { ...commonChecks, name: is.text };
const autoChecks: Checks<AutoOptions> = {
  column: is.text,
  comment: is.string,
  renamedFrom: is.text,
  hidden: is.boolean,
};
const action = is.oneOf("cascade", "restrict", "set null", "set default", "no action");
const relationChecks: Checks<RelationOptions> = {
  null: is.boolean,
  default: is.anything,
  unique: is.boolean,
  index: is.boolean,
  primaryKey: is.boolean,
  column: is.text,
  readOnly: is.boolean,
  hidden: is.boolean,
  comment: is.string,
  renamedFrom: is.text,
  relatedName: is.text,
  to: is.text,
  onDelete: action,
  onUpdate: action,
  deferred: is.boolean,
  constraint: is.boolean,
};
const manyToManyChecks: Checks<ManyToManyOptions> = {
  relatedName: is.text,
  through: is.function,
  throughFields: is.strings,
  table: is.text,
};

function read<O extends object>(owner: string, options: unknown, checks: Checks<O>): Partial<O> {
  return readOptions<O>(owner, options, checks);
}

function column<F>(type: ColumnType, options: FieldOptions<never> | object, more: { auto?: boolean } = {}): F {
  const given = options as TextOptions & TimeOptions<unknown>;
  const values = ["default", "defaultSql", "generated", "autoNow", "autoNowAdd"] as const;
  const set = values.filter((name) => given[name] !== undefined && given[name] !== false);
  if (set.length > 1) throw new ValueError(`a field cannot have both '${set[0]}' and '${set[1]}'`);
  if (given.primaryKey === true && given.null === true) throw new ValueError("a primary key cannot be null");
  return define({ form: "column", type, options: given, ...more });
}

function toOne<F>(owner: string, target: () => unknown, options: unknown, one: boolean): F {
  checkTarget(owner, target);
  const given = readOptions<RelationOptions>(owner, options, relationChecks);
  if (given.onDelete === "set null" && given.null !== true)
    throw new ValueError(`${owner}: onDelete 'set null' needs null: true`);
  return define({ form: "toOne", target, one, options: given });
}

function checkTarget(owner: string, target: unknown): void {
  checkOption(owner, "target", target, (value) =>
    typeof value === "function" && !("meta" in value) ? undefined : "a function that returns the model: () => Author",
  );
}

/** The type of a field exists only for the compiler. At run time a field is its definition. */
export function define<F>(spec: FieldSpec): F {
  return new FieldDefinition(spec) as F;
}

function customType(type: CustomType<unknown>): ColumnType {
  const { sqlType, encode, decode, toJson } = type;
  return {
    kind: "custom",
    sqlType: checkIdentifier("the sqlType of field.custom", sqlType),
    json: {},
    selectSql: (name) => `${name}::text`,
    ...(encode ? { encode } : {}),
    ...(decode ? { decode: (value: unknown) => decode(String(value)) } : {}),
    ...(toJson ? { toJson } : {}),
    jsonSql: (name) => `${name}::text`,
  };
}
