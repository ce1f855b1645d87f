/**
 * The types of names such as `author__country__name`. The compiler's work depends on the names in use, not on all
 * possible names. The names that editors suggest are computed only for a name that does not exist, such as one that is
 * being typed.
 */

import type { PathRef, ResultOf } from "../expressions/expression.js";
import type {
  ColumnNames,
  CompositeNames,
  FieldsOf,
  ForeignKeyValue,
  HasCompositeKey,
  JsonNames,
  KeyAttribute,
  KindOf,
  OutOf,
  PrimaryKey,
  RelationNames,
  RelationOfAttribute,
  SingleNames,
  TargetFields,
  ToOneNames,
} from "../fields/types.js";

declare const anyName: unique symbol;

/**
 * A name that nothing has. It is part of the constraint `Name`, and so of the type that the compiler takes for a type
 * parameter when it compares two querysets. There the methods do not depend on the model, by the condition
 * `[AnyName] extends [K]`, so that a queryset is compared by its model, its rows and its annotations alone. That takes
 * nine tenths of the compiler's work from the declaration of a model. The condition is written out at each place: the
 * arguments of a type with a name are computed even where they are not used.
 */
export type AnyName = typeof anyName;
export type Name = PropertyKey;

/** A name that does not exist; the compiler shows this in its message. */
export interface NoSuchField<Name extends string> {
  readonly "no such field": Name;
}

/** A name that stands for several fields and has no value; the compiler shows this in its message. */
export interface SeveralFields {
  readonly "stands for several fields": never;
}

/** Related rows with a composite key: they can be counted, but have no value themselves. */
interface RowsWithSeveralKeys {
  readonly "rows with a composite key": never;
}

/** The value at the end of a path. `F` are the fields of the model, `A` its annotations. */
export type PathValue<F, A, Path extends string> = Path extends keyof A
  ? A[Path]
  : Path extends "pk"
    ? HasCompositeKey<F> extends true
      ? SeveralFields
      : PrimaryKey<F>
    : Path extends keyof F
      ? FieldValue<F[Path]>
      : Path extends `${infer Head}__${infer Rest}`
        ? ThroughField<F, Path, Head, Rest>
        : RelationOfAttribute<F, Path> extends infer Relation extends keyof F & string
          ? [Relation] extends [never]
            ? NoSuchField<Path>
            : ForeignKeyValue<F[Relation]>
          : NoSuchField<Path>;

type FieldValue<Field> =
  KindOf<Field> extends "toOne"
    ? ForeignKeyValue<Field>
    : KindOf<Field> extends "toMany"
      ? KeyOfMany<TargetFields<Field>>
      : KindOf<Field> extends "reverseOne"
        ? PathValue<TargetFields<Field>, unknown, "pk"> | null
        : KindOf<Field> extends "composite"
          ? SeveralFields
          : OutOf<Field>;

type KeyOfMany<F> = HasCompositeKey<F> extends true ? RowsWithSeveralKeys : PrimaryKey<F> | null;

type ThroughField<F, Path extends string, Head extends string, Rest extends string> = Head extends keyof F
  ? KindOf<F[Head]> extends "toOne" | "composite"
    ? MaybeNull<F[Head], PathValue<TargetFields<F[Head]>, unknown, Rest>>
    : KindOf<F[Head]> extends "toMany" | "reverseOne"
      ? PathValue<TargetFields<F[Head]>, unknown, Rest> | null
      : KindOf<F[Head]> extends "json"
        ? JsonValue<OutOf<F[Head]>, Rest>
        : PartValue<F[Head], Rest, Path>
  : NoSuchField<Path>;

/** The value of a transform: the year of a date, the length of a text. */
type PartValue<Field, Part extends string, Path extends string> =
  KindOf<Field> extends keyof PartsByKind
    ? Part extends keyof PartsByKind[KindOf<Field>]
      ? PartsByKind[KindOf<Field>][Part] | Extract<OutOf<Field>, null>
      : NoSuchField<Path>
    : NoSuchField<Path>;

interface PartsByKind {
  datetime: MomentParts;
  local: MomentParts;
  date: Record<DatePart, number>;
  time: Record<TimePart, number>;
  text: { length: number; lower: string; upper: string };
  array: { len: number };
}

interface MomentParts extends Record<DatePart | TimePart, number> {
  date: string;
  time: string;
}

export type DatePart =
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
export type TimePart = "hour" | "minute" | "second";

type MaybeNull<Field, Value> = null extends ForeignKeyValue<Field> ? Value | null : Value;

/** The type at a path of keys inside a JSON value; unknown if the type of the JSON value is unknown. */
export type JsonValue<T, Path extends string> = unknown extends T
  ? unknown
  : Path extends `${infer Head}__${infer Rest}`
    ? JsonValue<JsonMember<T, Head>, Rest>
    : JsonMember<T, Path>;

type JsonMember<T, Key extends string> = T extends readonly (infer Item)[]
  ? Key extends `${number}`
    ? Item
    : never
  : T extends object
    ? Key extends keyof T
      ? T[Key]
      : string extends keyof T
        ? T[keyof T]
        : never
    : never;

/** The paths to fields that cannot be added up. The kind of the field decides: a decimal is a string in JavaScript. */
export type NotNumbers<F, A, Path> = Path extends keyof A
  ? never
  : Path extends keyof F
    ? KindOf<F[Path]> extends "decimal" | "interval" | "custom"
      ? never
      : KindOf<F[Path]> extends "json"
        ? Path
        : NotNumber<PathValue<F, A, Path & string>, Path>
    : Path extends `${infer Head}__${infer Rest}`
      ? Head extends RelationNames<F>
        ? [NotNumbers<TargetFields<F[Head]>, unknown, Rest>] extends [never]
          ? never
          : Path
        : Head extends JsonNames<F>
          ? Path
          : NotNumber<PathValue<F, A, Path>, Path>
      : NotNumber<PathValue<F, A, Path & string>, Path>;
type NotNumber<Value, Path> = [Value] extends [number | bigint | null] ? never : Path;

/** The path if it exists; otherwise the names that exist, which the compiler and editors show. */
export type CheckedPath<F, A, Path, Several = SeveralFields> = Path extends string
  ? [PathValue<F, A, Path>] extends [NoSuchField<string> | Several | null]
    ? [PathValue<F, A, Path>] extends [NoSuchField<string> | null]
      ? NoInfer<Suggestions<F, A, Path>>
      : SeveralFields
    : Path
  : never;

/** A path that has a value in each row: related rows with a composite key have none. */
export type CheckedValue<F, A, Path> = CheckedPath<F, A, Path, SeveralFields | RowsWithSeveralKeys>;

/**
 * A path on which there is at most one row: `author__country__name`, not `tags__name`. A composite key stands for its
 * fields.
 */
export type CheckedSinglePath<F, A, Path> = Path extends string
  ? [PathValue<F, A, Path>] extends [NoSuchField<string> | null]
    ? NoInfer<SingleSuggestions<F, A, Path>>
    : LeadsToMany<F, A, Path> extends true
      ? NoInfer<SingleSuggestions<F, A, Path>>
      : Path
  : never;

type LeadsToMany<F, A, Path extends string> = Path extends keyof A
  ? false
  : Path extends `${infer Head}__${infer Rest}`
    ? Head extends keyof F
      ? KindOf<F[Head]> extends "toMany"
        ? true
        : KindOf<F[Head]> extends "toOne" | "reverseOne" | "composite"
          ? LeadsToMany<TargetFields<F[Head]>, unknown, Rest>
          : false
      : false
    : Path extends keyof F
      ? KindOf<F[Path]> extends "toMany"
        ? true
        : false
      : false;

/** The annotations of a queryset after `values`: selected fields of to-many relations have one value in each row. */
export type WithJoined<M, A, K> = [AnyName] extends [K]
  ? A
  : [ManyPaths<FieldsOf<M>, A, K>] extends [never]
    ? A
    : A & { readonly [P in ManyPaths<FieldsOf<M>, A, K>]: PathValue<FieldsOf<M>, A, P> };
type ManyPaths<F, A, K> = K extends string ? (LeadsToMany<F, A, K> extends true ? K : never) : never;

/** Paths for `orderBy`: with `-` in front for descending; `?` is random. */
export type CheckedOrderPath<F, A, Key extends string> = Key extends "?"
  ? Key
  : Key extends `-${infer Name}`
    ? `-${CheckedSinglePath<F, A, Name>}`
    : Key extends ""
      ? OrderNames<F, A>
      : string extends Key
        ? string
        : CheckedSinglePath<F, A, Key>;

type OrderNames<F, A> = SingleSuggestions<F, A, ""> extends infer Names extends string ? Names | `-${Names}` : never;

/** The names that a model offers: its fields, the keys of its relations, annotations. */
export type OwnNames<F, A = unknown> = ValueNames<F> | (keyof A & string) | KeyAttribute<ToOneNames<F>>;
type ValueNames<F> = [CompositeNames<F>] extends [never]
  ? keyof F & string
  : Exclude<keyof F & string, CompositeNames<F>>;
// `{ names: ... }["names"]`: a type without a name, so that an error lists the names and not the fields of the model.
type OwnSingleNames<F, A = unknown> = {
  names: ColumnNames<F> | SingleNames<F> | KeyAttribute<ToOneNames<F>> | (keyof A & string);
}["names"];

/** The names that continue a path, through one more relation; through two if nothing of the path is known. */
export type Suggestions<F, A, Path extends string> = string extends Path
  ? DeepNames<F, A>
  : KnownSuggestions<F, A, Path>;

type DeepNames<F, A> =
  | OwnNames<F, A>
  | { [K in RelationNames<F>]: `${K}__${NamesWithin<TargetFields<F[K]>, unknown>}` }[RelationNames<F>];

type KnownSuggestions<F, A, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends RelationNames<F>
    ? `${Head}__${KnownSuggestions<TargetFields<F[Head]>, unknown, Rest>}`
    : NamesWithin<F, A>
  : NamesWithin<F, A>;

export type NamesWithin<F, A> =
  | OwnNames<F, A>
  | { [K in RelationNames<F>]: `${K}__${OwnNames<TargetFields<F[K]>>}` }[RelationNames<F>];

type SingleSuggestions<F, A, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends SingleNames<F>
    ? `${Head}__${SingleSuggestions<TargetFields<F[Head]>, unknown, Rest>}`
    : SingleNamesWithin<F, A>
  : SingleNamesWithin<F, A>;

type SingleNamesWithin<F, A> = {
  names:
    | OwnSingleNames<F, A>
    | { [K in SingleNames<F>]: `${K}__${OwnSingleNames<TargetFields<F[K]>>}` }[SingleNames<F>];
}["names"];

/** Names that may exist, without a limit of depth: exact for the model and its relations, any text after that. */
export type NamePattern<F, A> =
  | OwnNames<F, A>
  | "pk"
  | JsonKeys<F>
  | { [K in RelationNames<F>]: `${K}__${PatternAfter<TargetFields<F[K]>>}` }[RelationNames<F>];
type PatternAfter<F> = OwnNames<F> | "pk" | `${RelationNames<F> | JsonNames<F>}__${string}`;
type JsonKeys<F> = `${JsonNames<F>}__${string}`;

/** The type of an expression's result on a model. References to fields are resolved on that model. */
export type ExpressionValue<F, A, E> = Deref<F, A, ResultOf<E>>;

type Deref<F, A, T> =
  T extends PathRef<infer Path> ? PathValue<F, A, Path> : T extends PathRef<infer Path>[] ? PathValue<F, A, Path>[] : T;

/** The names of columns, by field or by attribute. */
export type ColumnName<M> = ColumnNames<FieldsOf<M>> | ToOneNames<FieldsOf<M>> | KeyAttribute<ToOneNames<FieldsOf<M>>>;
