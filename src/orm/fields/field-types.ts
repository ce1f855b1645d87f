/** The types of the arguments and results of `field` functions. Nothing here exists at run time. */

import type { SnakeCase } from "../../kit/names.js";
import type { FieldOptions, NumberOptions, TextOptions, TimeOptions } from "./definition.js";
import type { Column } from "./types.js";

export type None = Record<never, never>;

/**
 * The options, if every key is known. `O` is inferred, so the compiler does not report unknown keys by itself. `Options`
 * gives editors the names of all options, and their comments.
 */
export type Exact<O, Options> = O & Options & { readonly [K in Exclude<keyof O, keyof Options>]: never };

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
export type FlagsFrom<O> = {
  [K in keyof O & keyof Flagging]: O[K] extends Flagging[K] ? FlagsBy[K] : never;
}[keyof O & keyof Flagging];

/** The fields of the other model that a foreign key over several fields names; never if it names none. */
export type ReferencesIn<O> = O extends { readonly references: infer Names extends readonly string[] } ? Names : never;

/** Any value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

export type CharLength = { readonly maxLength: number } | { readonly [K in SnakeCase<"maxLength">]: number };
export type AllCharOptions = TextOptions & {
  /** The largest number of characters. */
  readonly maxLength?: number;
  /** The same as `maxLength`. */
  readonly max_length?: number;
};

export type ManualColumn<Out, In, O, Kind extends string> = Column<Out, In, FlagsFrom<O>, Kind>;

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

export type AutoOptions = Pick<FieldOptions<number>, "column" | "comment" | "renamedFrom" | "hidden">;
export type DecimalOptions = NumberOptions<string | number | bigint, string> & {
  /** The largest number of digits. */
  readonly precision?: number;
  /** How many of the digits stand after the point; 0 by default. */
  readonly scale?: number;
};
export type DatetimeOptions = TimeOptions<Date | string> & {
  /** False: `timestamp without time zone`, whose values are strings. True by default. */
  readonly timezone?: boolean;
  /** Digits of the fraction of a second, 0 to 6. */
  readonly precision?: number;
};
export type EnumOptions<In> = FieldOptions<In> & {
  /** The name of the type in the database. */
  readonly name?: string;
};

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
    options: FieldOptions<In, Out> & { readonly null: true },
  ): Column<Out, In, "null" | "optional", "custom">;
  <Out, In = Out>(
    type: CustomType<Out, In>,
    options: FieldOptions<In, Out> & ({ readonly default: In | (() => In) } | { readonly defaultSql: string }),
  ): Column<Out, In, "optional", "custom">;
  <Out, In = Out>(
    type: CustomType<Out, In>,
    options?: FieldOptions<In, Out> & { readonly null?: false },
  ): Column<Out, In, never, "custom">;
}
