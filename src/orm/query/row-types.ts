/** The types of values that are written to rows and read from them. */

import type {
  ColumnNames,
  CompositeNames,
  FieldsOf,
  FlagsOf,
  ForeignKeyValue,
  InOf,
  KeyAttribute,
  KindOf,
  LockedNames,
  OptionalNames,
  OutOf,
  PrimaryKey,
  RelationNames,
  SavedRow,
  SingleNames,
  TargetFields,
  TargetOf,
  ToOneNames,
} from "../fields/types.js";
import type { ExpressionFor } from "./condition-types.js";

/** The columns of a row, as properties. */
export type ColumnValues<F> = { [K in ColumnNames<F>]: OutOf<F[K]> } & {
  [K in ToOneNames<F> as KeyAttribute<K>]: ForeignKeyValue<F[K]>;
};

type Input<Field> = "null" extends FlagsOf<Field> ? InOf<Field> | null : InOf<Field>;
type KeyInput<Field> = ForeignKeyValue<Field>;
type RelationInput<Field> = SavedRow<TargetOf<Field>> | ForeignKeyValue<Field>;

type Required<F> = Exclude<ColumnNames<F>, OptionalNames<F> | LockedNames<F>>;
type NotRequired<F> = Exclude<ColumnNames<F> & OptionalNames<F>, LockedNames<F>>;

/** The columns of a new row. Columns without a default that cannot be null are required. */
export type ColumnInput<F> = { readonly [K in Required<F>]: Input<F[K]> } & {
  readonly [K in NotRequired<F>]?: Input<F[K]> | undefined;
};

/** The values of a new row, with its to-one relations by key or by instance. */
export type CreateInput<M> = ColumnInput<FieldsOf<M>> & {
  readonly [K in ToOneNames<FieldsOf<M>> & OptionalNames<FieldsOf<M>>]?: RelationInput<FieldsOf<M>[K]> | undefined;
} & {
  readonly [K in ToOneNames<FieldsOf<M>> & OptionalNames<FieldsOf<M>> as KeyAttribute<K>]?:
    | KeyInput<FieldsOf<M>[K]>
    | undefined;
} & RequiredRelations<FieldsOf<M>>;

type RequiredRelations<F> = [Exclude<ToOneNames<F>, OptionalNames<F>>] extends [never]
  ? unknown
  : IntersectEach<F, Exclude<ToOneNames<F>, OptionalNames<F>>>;

/**
 * A relation is given as an instance, or by its key under either name. Inferring a function's parameter intersects the
 * unions of the relations, so that each union stays separate.
 */
type IntersectEach<F, Names extends keyof F & string> = (
  Names extends unknown
    ? (
        value:
          | ({ readonly [P in Names]: RelationInput<F[Names]> } & { readonly [P in KeyAttribute<Names>]?: undefined })
          | ({ readonly [P in KeyAttribute<Names>]: KeyInput<F[Names]> } & { readonly [P in Names]?: undefined }),
      ) => void
    : never
) extends (value: infer Value) => void
  ? Value
  : never;

type Writable<M, T> = T | ExpressionFor<T, M, unknown>;

/** The argument of `update`: any columns, with values or expressions. */
export type UpdateInput<M> = {
  readonly [K in Exclude<ColumnNames<FieldsOf<M>>, LockedNames<FieldsOf<M>>>]?:
    | Writable<M, Input<FieldsOf<M>[K]>>
    | undefined;
} & { readonly [K in ToOneNames<FieldsOf<M>>]?: Writable<M, RelationInput<FieldsOf<M>[K]>> | undefined } & {
  readonly [K in ToOneNames<FieldsOf<M>> as KeyAttribute<K>]?: Writable<M, KeyInput<FieldsOf<M>[K]>> | undefined;
} & CompositeUpdates<FieldsOf<M>>;

type CompositeUpdates<F> = [CompositeNames<F>] extends [never]
  ? unknown
  : {
      readonly [K in CompositeNames<F>]?:
        | SavedRow<TargetOf<F[K]>>
        | ("null" extends FlagsOf<F[K]> ? null : never)
        | undefined;
    };

/** A path of to-one relations: `author`, `author__country`. Otherwise the paths that exist, which editors suggest. */
export type CheckedToOne<M, Path> = Path extends string
  ? IsToOne<FieldsOf<M>, Path> extends true
    ? Path
    : NoInfer<ToOneSuggestions<FieldsOf<M>, Path>>
  : never;

type IsToOne<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends keyof F
    ? KindOf<F[Head]> extends "toOne" | "reverseOne" | "composite"
      ? IsToOne<TargetFields<F[Head]>, Rest>
      : false
    : false
  : Path extends keyof F
    ? KindOf<F[Path]> extends "toOne" | "reverseOne" | "composite"
      ? true
      : false
    : false;

type ToOneSuggestions<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends SingleNames<F>
    ? `${Head}__${ToOneSuggestions<TargetFields<F[Head]>, Rest>}`
    : ToOneWithin<F>
  : ToOneWithin<F>;
type ToOneWithin<F> =
  | SingleNames<F>
  | { [K in SingleNames<F>]: `${K}__${SingleNames<TargetFields<F[K]>>}` }[SingleNames<F>];

/** A path of relations of any kind. Otherwise the paths that exist, which editors suggest. */
export type CheckedRelation<M, Path> = Path extends string
  ? [RelationTarget<FieldsOf<M>, Path>] extends [never]
    ? NoInfer<RelationSuggestions<FieldsOf<M>, Path>>
    : Path
  : never;

/** The instances at the end of a path of relations; never if there is no such path. */
export type RelationTarget<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends keyof F
    ? KindOf<F[Head]> extends "toOne" | "toMany" | "reverseOne" | "composite"
      ? RelationTarget<TargetFields<F[Head]>, Rest>
      : never
    : never
  : Path extends keyof F
    ? TargetOf<F[Path]>
    : never;

export type RelationSuggestions<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends RelationNames<F>
    ? `${Head}__${RelationSuggestions<TargetFields<F[Head]>, Rest>}`
    : RelationsWithin<F>
  : RelationsWithin<F>;
type RelationsWithin<F> =
  | RelationNames<F>
  | { [K in RelationNames<F>]: `${K}__${RelationNames<TargetFields<F[K]>>}` }[RelationNames<F>];

/**
 * A row with more properties, or with others in place of its own. It is no intersection: TypeScript resolves a class again,
 * with all of its fields, for each intersection that the class is part of.
 */
export type Merged<Row, More> = {
  [K in keyof Row | keyof More]: K extends keyof More ? More[K] : K extends keyof Row ? Row[K] : never;
};

/** A row with loaded relations: each property holds the related rows instead of a promise. */
export type WithRelated<M, Row, Path extends string> = {
  [K in keyof Row | HeadOf<Path>]: K extends HeadOf<Path>
    ? LoadedRelation<FieldsOf<M>, K, TailOf<Path, K>>
    : K extends keyof Row
      ? Row[K]
      : never;
};

type HeadOf<Path extends string> = Path extends `${infer Head}__${string}` ? Head : Path;
/** The rest of the paths that begin with a name. */
export type TailOf<Path extends string, Head extends string> = Path extends `${Head}__${infer Tail}` ? Tail : never;

type LoadedRelation<F, Name extends string, Rest extends string> = Name extends keyof F
  ? KindOf<F[Name]> extends "toMany"
    ? LoadedTarget<F[Name], Rest>[]
    : KindOf<F[Name]> extends "reverseOne"
      ? LoadedTarget<F[Name], Rest> | null
      : "null" extends FlagsOf<F[Name]>
        ? LoadedTarget<F[Name], Rest> | null
        : LoadedTarget<F[Name], Rest>
  : never;

type LoadedTarget<Field, Rest extends string> = [Rest] extends [never]
  ? TargetOf<Field>
  : WithRelated<TargetOf<Field>, TargetOf<Field>, Rest>;

/** The type of a model's primary key, by the class of its instances. */
export type KeyOf<M> = PrimaryKey<FieldsOf<M>>;
