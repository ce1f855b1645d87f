/** The types of lookups: `{ year__gte: 2000, author__name__icontains: "le guin" }`. */

import type { AnyExpression, Subquery } from "../expressions/expression.js";
import type {
  FlagsOf,
  InOf,
  KeyAttribute,
  KindOf,
  PrimaryKey,
  ReferenceKey,
  RelationNames,
  RelationOfAttribute,
  SavedRow,
  TargetFields,
  TargetOf,
  ToOneNames,
} from "../fields/types.js";
import type { DatePart, JsonValue, NoSuchField, TimePart } from "./path-types.js";

/** A lookup that a field does not have; the compiler shows this in its message. */
export interface NoSuchLookup<Name extends string> {
  readonly "no such lookup": Name;
}

/**
 * The rows of a subquery that can be compared with a value of type `T`: the values themselves, rows of one column, or rows
 * with such a key.
 */
type RowOf<T> = T | null | readonly [T | null] | { readonly [name: string]: T | null } | { readonly pk: T };
/** Errors name it, so its name says what is accepted. */
type ValueOrSubquery<T> = T | Subquery<RowOf<T>>;
type Null<Flags, T> = "null" extends Flags ? T | null : T;

interface ForAll<In, Flags> {
  exact: ValueOrSubquery<Null<Flags, In>>;
  ne: ValueOrSubquery<Null<Flags, In>>;
  gt: ValueOrSubquery<In>;
  gte: ValueOrSubquery<In>;
  lt: ValueOrSubquery<In>;
  lte: ValueOrSubquery<In>;
  in: readonly (Null<Flags, In> | AnyExpression)[] | ReadonlySet<In> | Subquery<RowOf<In>>;
  range: readonly [In | AnyExpression, In | AnyExpression];
  isnull: boolean;
}

interface ForText {
  iexact: string;
  contains: string;
  icontains: string;
  startswith: string;
  istartswith: string;
  endswith: string;
  iendswith: string;
  regex: string;
  iregex: string;
  search: string;
}

interface ForArray<In> {
  contains: ValueOrSubquery<In>;
  containedBy: ValueOrSubquery<In>;
  contained_by: ValueOrSubquery<In>;
  overlap: ValueOrSubquery<In>;
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

type TextKind = "text" | "uuid" | "enum" | "custom";

/** The lookups that end a key. */
type Final<In, Flags, Kind> = ForAll<In, Flags> &
  (Kind extends "array"
    ? ForArray<In>
    : Kind extends "json"
      ? ForJson & Omit<ForText, "contains">
      : Kind extends TextKind
        ? ForText
        : Kind extends "searchVector"
          ? Pick<ForText, "search">
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
        : JsonValue<T, Rest> | null;

type JsonLookup<T, Last extends JsonFinal> = Last extends keyof ForJson
  ? ForJson[Last]
  : Last extends keyof ForText
    ? ForText[Last]
    : Last extends keyof ForAll<T, never>
      ? ForAll<T, never>[Last]
      : never;

/** The type of the value for a key of a filter. */
export type LookupValue<F, A, Key extends string> = Key extends keyof A
  ? ValueOrSubquery<A[Key]>
  : Key extends "pk"
    ? ValueOrSubquery<PrimaryKey<F>>
    : Key extends keyof F
      ? FieldLookup<F[Key]>
      : Key extends `${infer Head}__${infer Rest}`
        ? AfterName<F, A, Head, Rest>
        : AttributeValue<F, Key>;

type FieldLookup<Field> =
  KindOf<Field> extends "toOne" | "toMany" | "reverseOne" | "composite"
    ? RelationValue<Field>
    : ValueOrSubquery<Null<FlagsOf<Field>, InOf<Field>>>;

/** A relation is compared with a row of the other model, with its key, or with null if there can be none. */
type RelationValue<Field> =
  | KeyOrRow<Field>
  | Subquery<SavedRow<TargetOf<Field>> | Exclude<RowOf<ReferenceKey<Field>>, { readonly pk: unknown }>>
  | (KindOf<Field> extends "toOne" | "composite" ? Null<FlagsOf<Field>, never> : null);

type KeyOrRow<Field> = ReferenceKey<Field> | SavedRow<TargetOf<Field>>;

type AttributeValue<F, Name extends string> =
  RelationOfAttribute<F, Name> extends infer Relation extends keyof F
    ? [Relation] extends [never]
      ? NoSuchField<Name>
      : RelationValue<F[Relation]>
    : NoSuchField<Name>;

type AfterName<F, A, Head extends string, Rest extends string> = Head extends keyof A
  ? AfterAnnotation<NonNullable<A[Head]>, Rest>
  : Head extends "pk"
    ? KeyLookup<PrimaryKey<F>, never, Rest>
    : Head extends keyof F
      ? KindOf<F[Head]> extends "toOne" | "toMany" | "reverseOne" | "composite"
        ? AfterRelation<F[Head], Rest>
        : AfterColumn<F[Head], Rest>
      : RelationOfAttribute<F, Head> extends infer Relation extends keyof F
        ? [Relation] extends [never]
          ? NoSuchField<Head>
          : AfterKey<F[Relation], Rest>
        : NoSuchField<Head>;

type AfterAnnotation<T, Rest extends string> = Rest extends keyof Final<T, "null", "text">
  ? Final<T, "null", "text">[Rest]
  : T extends Date
    ? AfterTransform<Date, "datetime", Rest>
    : NoSuchLookup<Rest>;

/** After a relation come fields of the other model, or lookups of its key. */
type AfterRelation<Field, Rest extends string> = Rest extends keyof ForAll<unknown, never>
  ? AfterKey<Field, Rest>
  : LookupValue<TargetFields<Field>, unknown, Rest>;

type AfterKey<Field, Rest extends string> = Rest extends "in"
  ? RelationList<Field>
  : KeyLookup<KeyOrRow<Field>, FlagsOf<Field>, Rest>;

type RelationList<Field> =
  | readonly (Null<FlagsOf<Field>, KeyOrRow<Field>> | AnyExpression)[]
  | ReadonlySet<KeyOrRow<Field>>
  | Extract<RelationValue<Field>, Subquery>;

type KeyLookup<Key, Flags, Rest extends string> = Rest extends keyof ForAll<Key, Flags>
  ? ForAll<Key, Flags>[Rest]
  : NoSuchLookup<Rest>;

/** The names of a field's lookups and transforms, for editors. */
type LookupNames<Field> =
  KindOf<Field> extends "toOne" | "toMany" | "reverseOne" | "composite"
    ? keyof ForAll<unknown, never>
    : (keyof Final<unknown, never, KindOf<Field>> & string) | TransformNames<KindOf<Field>>;

type TransformNames<Kind> = Kind extends "datetime" | "local"
  ? DatePart | TimePart | "date" | "time"
  : Kind extends "date"
    ? DatePart
    : Kind extends "time"
      ? TimePart
      : Kind extends "text"
        ? "length" | "lower" | "upper"
        : Kind extends "array"
          ? "len"
          : never;

/** The keys that start with a field of the model. */
type OwnKeys<F> =
  | (keyof F & string)
  | KeyAttribute<ToOneNames<F>>
  | { [K in keyof F & string]: `${K}__${LookupNames<F[K]>}` }[keyof F & string];

type AnnotationKeys<A> = unknown extends A
  ? never
  : (keyof A & string) | `${keyof A & string}__${keyof ForAll<unknown, never>}`;

/** The keys that editors suggest: lookups of the model, and of the models that it is related to. */
export type WhereKeys<F, A> = OwnKeys<F> | AnnotationKeys<A> | "pk" | RelatedKeys<F>;
type RelatedKeys<F> = { [K in RelationNames<F>]: `${K}__${OwnKeys<TargetFields<F[K]>>}` }[RelationNames<F>];

/** The keys that continue a key that does not exist, such as one that is being typed. */
export type KeySuggestions<F, Key extends string> = Key extends `${infer Head}__${infer Rest}`
  ? Head extends RelationNames<F>
    ? `${Head}__${DeepKeys<TargetFields<F[Head]>, Rest>}`
    : never
  : never;
type DeepKeys<F, Key extends string> = Key extends `${infer Head}__${infer Rest}`
  ? Head extends RelationNames<F>
    ? `${Head}__${DeepKeys<TargetFields<F[Head]>, Rest>}`
    : WhereKeys<F, unknown>
  : WhereKeys<F, unknown>;
