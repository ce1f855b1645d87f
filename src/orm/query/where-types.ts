/** The types of lookups: `{ year__gte: 2000, author__name__icontains: "le guin" }`. */

import type { Expression, Subqueryable } from "../expressions/expression.js";
import type { AnyQ, LookupsOf } from "../expressions/q.js";
import type {
  ColumnNames,
  FieldsOf,
  FlagsOf,
  InOf,
  KindOf,
  PrimaryKey,
  RelationNames,
  RelationOfAttribute,
  TargetFields,
  TargetOf,
} from "../fields/types.js";
import type { JsonValue, NoSuchField } from "./path-types.js";

/** A lookup that a field does not have; the compiler shows this in its message. */
export interface NoSuchLookup<Name extends string> {
  readonly "no such lookup": Name;
}

type Computed = Expression<unknown, string>;
type One<T> = T | Computed | Subqueryable;
type Null<Flags, T> = "null" extends Flags ? T | null : T;

interface ForAll<In, Flags> {
  exact: One<Null<Flags, In>>;
  ne: One<Null<Flags, In>>;
  gt: One<In>;
  gte: One<In>;
  lt: One<In>;
  lte: One<In>;
  in: readonly (Null<Flags, In> | Computed)[] | ReadonlySet<In> | Subqueryable;
  range: readonly [In | Computed, In | Computed];
  isnull: boolean;
}

interface ForText {
  iexact: string;
  contains: string | Computed;
  icontains: string | Computed;
  startswith: string | Computed;
  istartswith: string | Computed;
  endswith: string | Computed;
  iendswith: string | Computed;
  regex: string;
  iregex: string;
  search: string;
}

interface ForArray<In> {
  contains: One<In>;
  containedBy: One<In>;
  contained_by: One<In>;
  overlap: One<In>;
}

interface ForJson {
  contains: unknown;
  containedBy: unknown;
  contained_by: unknown;
  hasKey: string;
  has_key: string;
  hasKeys: readonly string[];
  has_keys: readonly string[];
  hasAnyKeys: readonly string[];
  has_any_keys: readonly string[];
}

type DatePart =
  | "year"
  | "isoYear"
  | "quarter"
  | "month"
  | "week"
  | "day"
  | "weekDay"
  | "week_day"
  | "isoWeekDay"
  | "iso_week_day"
  | "yearDay";
type TimePart = "hour" | "minute" | "second";

type TextKind = "text" | "uuid" | "enum" | "custom" | "interval" | "decimal" | "int" | "bigInt" | "float";

/** The lookups that end a key. */
type Final<In, Flags, Kind> = ForAll<In, Flags> &
  (Kind extends "array"
    ? ForArray<In>
    : Kind extends "json"
      ? ForJson & Omit<ForText, "contains">
      : Kind extends TextKind | "searchVector"
        ? ForText
        : unknown);

/** The type of a lookup's value, by the part of its key after a column's name. */
type AfterColumn<Field, Rest extends string> = Rest extends keyof Final<InOf<Field>, FlagsOf<Field>, KindOf<Field>>
  ? Final<InOf<Field>, FlagsOf<Field>, KindOf<Field>>[Rest]
  : KindOf<Field> extends "json"
    ? InJson<InOf<Field>, Rest>
    : AfterTransform<InOf<Field>, KindOf<Field>, Rest>;

type AfterTransform<In, Kind, Rest extends string> = Rest extends `${infer Head}__${infer Tail}`
  ? FinalOf<Transformed<In, Kind, Head>, Tail, Head>
  : FinalOf<Transformed<In, Kind, Rest>, "exact", Rest>;

/** The lookup after a transform; `To` is false when there is no such transform. */
type FinalOf<To, Last extends string, Name extends string> = To extends readonly [infer Value, infer Kind]
  ? Last extends keyof Final<Value, never, Kind>
    ? Final<Value, never, Kind>[Last]
    : NoSuchLookup<Last>
  : NoSuchLookup<Name>;

/** The type and kind of a value after a transform. */
type Transformed<In, Kind, Name extends string> = Kind extends "datetime" | "local"
  ? Name extends DatePart | TimePart
    ? readonly [number, "int"]
    : Name extends "date"
      ? readonly [string | Date, "date"]
      : Name extends "time"
        ? readonly [string, "time"]
        : false
  : Kind extends "date"
    ? Name extends DatePart
      ? readonly [number, "int"]
      : false
    : Kind extends "time"
      ? Name extends TimePart
        ? readonly [number, "int"]
        : false
      : Kind extends "text"
        ? Name extends "length"
          ? readonly [number, "int"]
          : Name extends "lower" | "upper"
            ? readonly [string, "text"]
            : false
        : Kind extends "array"
          ? Name extends "len"
            ? readonly [number, "int"]
            : Name extends `${number}`
              ? In extends readonly (infer Item)[]
                ? readonly [Item, "text"]
                : false
              : false
          : false;

type JsonFinal = keyof ForAll<unknown, never> | keyof ForText | keyof ForJson;

/** The type of the value for keys inside JSON, with an optional lookup at the end. */
type InJson<T, Rest extends string> = [T] extends [never]
  ? NoSuchField<Rest>
  : Rest extends JsonFinal
    ? JsonLookup<T, Rest>
    : Rest extends `${infer Head}__${infer Tail}`
      ? InJson<JsonValue<T, Head>, Tail>
      : [JsonValue<T, Rest>] extends [never]
        ? NoSuchField<Rest>
        : JsonValue<T, Rest> | Computed | null;

type JsonLookup<T, Last extends JsonFinal> = Last extends keyof ForJson
  ? ForJson[Last]
  : Last extends keyof ForText
    ? ForText[Last]
    : Last extends keyof ForAll<T, never>
      ? ForAll<T, never>[Last]
      : never;

/** The type of the value for a key of a filter. */
export type LookupValue<F, A, Key extends string> = Key extends keyof A
  ? One<A[Key]>
  : Key extends "pk"
    ? One<PrimaryKey<F>>
    : Key extends RelationNames<F>
      ? RelationValue<F[Key]>
      : Key extends keyof F
        ? One<Null<FlagsOf<F[Key]>, InOf<F[Key]>>>
        : Key extends `${infer Head}__${infer Rest}`
          ? AfterName<F, A, Head, Rest>
          : AttributeValue<F, Key>;

type RelationValue<Field> = One<PrimaryKey<TargetFields<Field>> | TargetOf<Field> | Null<FlagsOf<Field>, never>>;

type AttributeValue<F, Name extends string> =
  RelationOfAttribute<F, Name> extends infer Relation extends keyof F
    ? [Relation] extends [never]
      ? NoSuchField<Name>
      : RelationValue<F[Relation]>
    : NoSuchField<Name>;

type AfterName<F, A, Head extends string, Rest extends string> = Head extends keyof A
  ? Rest extends keyof Final<NonNullable<A[Head]>, "null", "text">
    ? Final<NonNullable<A[Head]>, "null", "text">[Rest]
    : A[Head] extends Date | null
      ? AfterTransform<Date, "datetime", Rest>
      : NoSuchLookup<Rest>
  : Head extends "pk"
    ? KeyLookup<PrimaryKey<F>, never, Rest>
    : Head extends RelationNames<F>
      ? AfterRelation<F[Head], Rest>
      : Head extends ColumnNames<F>
        ? AfterColumn<F[Head], Rest>
        : RelationOfAttribute<F, Head> extends infer Relation extends keyof F
          ? [Relation] extends [never]
            ? NoSuchField<Head>
            : KeyLookup<PrimaryKey<TargetFields<F[Relation]>>, FlagsOf<F[Relation]>, Rest>
          : NoSuchField<Head>;

/** After a relation come fields of the other model, or lookups of its key. */
type AfterRelation<Field, Rest extends string> = Rest extends keyof ForAll<unknown, never>
  ? KeyLookup<PrimaryKey<TargetFields<Field>> | TargetOf<Field>, FlagsOf<Field>, Rest>
  : LookupValue<TargetFields<Field>, unknown, Rest>;

type KeyLookup<Key, Flags, Rest extends string> = Rest extends keyof ForAll<Key, Flags>
  ? ForAll<Key, Flags>[Rest]
  : NoSuchLookup<Rest>;

/** The lookups given, each with the type it must have. */
export type CheckedWhere<M, A, W> = { readonly [K in keyof W]: LookupValue<FieldsOf<M>, A, K & string> };

/** The condition, if its fields and lookups exist and its values fit. */
export type CheckedCondition<M, A, C> = C extends AnyQ
  ? LookupsOf<C> extends CheckedUnion<M, A, LookupsOf<C>>
    ? C
    : CheckedUnion<M, A, LookupsOf<C>>
  : C extends Computed
    ? C
    : CheckedWhere<M, A, C>;

type CheckedUnion<M, A, W> = W extends unknown ? CheckedWhere<M, A, W> : never;
