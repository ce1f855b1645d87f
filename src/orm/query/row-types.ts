/** The types of values that are written to rows and read from them. */

import type { Expression } from "../expressions/expression.js";
import type {
  ColumnNames,
  FieldsOf,
  FlagsOf,
  ForeignKeyValue,
  InOf,
  KeyAttribute,
  KindOf,
  OutOf,
  PrimaryKey,
  RelationNames,
  TargetFields,
  TargetOf,
  ToOneNames,
} from "../fields/types.js";

/** The columns of a row, as properties. */
export type ColumnValues<F> = { [K in ColumnNames<F>]: OutOf<F[K]> } & {
  [K in ToOneNames<F> as KeyAttribute<K>]: ForeignKeyValue<F[K]>;
};

type Locked<F> = { [K in keyof F]: "locked" extends FlagsOf<F[K]> ? K : never }[keyof F];
type Optional<F> = { [K in keyof F]: "optional" extends FlagsOf<F[K]> ? K : never }[keyof F];

type Input<Field> = "null" extends FlagsOf<Field> ? InOf<Field> | null : InOf<Field>;
type KeyInput<Field> = ForeignKeyValue<Field>;
type RelationInput<Field> = TargetOf<Field> | ForeignKeyValue<Field>;

type Required<F> = Exclude<ColumnNames<F>, Optional<F> | Locked<F>>;
type NotRequired<F> = Exclude<ColumnNames<F> & Optional<F>, Locked<F>>;

/** The argument of `create`. Columns without a default that cannot be null are required. */
export type CreateInput<M> = { readonly [K in Required<FieldsOf<M>>]: Input<FieldsOf<M>[K]> } & {
  readonly [K in NotRequired<FieldsOf<M>>]?: Input<FieldsOf<M>[K]> | undefined;
} & {
  readonly [K in ToOneNames<FieldsOf<M>> & Optional<FieldsOf<M>>]?: RelationInput<FieldsOf<M>[K]> | undefined;
} & {
  readonly [K in ToOneNames<FieldsOf<M>> & Optional<FieldsOf<M>> as KeyAttribute<K>]?:
    | KeyInput<FieldsOf<M>[K]>
    | undefined;
} & RequiredRelations<FieldsOf<M>>;

type RequiredRelations<F> = [Exclude<ToOneNames<F>, Optional<F>>] extends [never]
  ? unknown
  : IntersectEach<F, Exclude<ToOneNames<F>, Optional<F>>>;

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

type Writable<T> = T | Expression<unknown, string>;

/** The argument of `update`: any columns, with values or expressions. */
export type UpdateInput<M> = {
  readonly [K in Exclude<ColumnNames<FieldsOf<M>>, Locked<FieldsOf<M>>>]?: Writable<Input<FieldsOf<M>[K]>> | undefined;
} & { readonly [K in ToOneNames<FieldsOf<M>>]?: Writable<RelationInput<FieldsOf<M>[K]>> | undefined } & {
  readonly [K in ToOneNames<FieldsOf<M>> as KeyAttribute<K>]?: Writable<KeyInput<FieldsOf<M>[K]>> | undefined;
};

/** The names of columns, by field or by attribute. */
export type ColumnName<M> = ColumnNames<FieldsOf<M>> | ToOneNames<FieldsOf<M>> | KeyAttribute<ToOneNames<FieldsOf<M>>>;

/** A path of to-one relations: `author`, `author__country`. */
export type ToOnePath<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends SingleNames<F>
    ? ToOnePath<TargetFields<F[Head]>, Rest> extends Rest
      ? Path
      : NoSuchRelation<Rest>
    : NoSuchRelation<Head>
  : Path extends SingleNames<F>
    ? Path
    : NoSuchRelation<Path>;

/** A path of relations of any kind. */
export type RelationPath<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends RelationNames<F>
    ? RelationPath<TargetFields<F[Head]>, Rest> extends Rest
      ? Path
      : NoSuchRelation<Rest>
    : NoSuchRelation<Head>
  : Path extends RelationNames<F>
    ? Path
    : NoSuchRelation<Path>;

/** A relation that does not exist, or leads to many where one is needed; the compiler shows this in its message. */
export interface NoSuchRelation<Name extends string> {
  readonly "no such relation": Name;
}

export type SingleNames<F> = { [K in keyof F]: KindOf<F[K]> extends "toOne" | "reverseOne" ? K : never }[keyof F] &
  string;

/** A row with loaded relations: each property holds the related rows instead of a promise. */
export type WithRelated<F, Row, Path extends string> = Row & LoadedRelations<F, Path>;

type LoadedRelations<F, Path extends string> = {
  readonly [K in Path as HeadOf<K>]: LoadedRelation<F, HeadOf<K>, TailOf<K>>;
};

type HeadOf<Path extends string> = Path extends `${infer Head}__${string}` ? Head : Path;
type TailOf<Path extends string> = Path extends `${string}__${infer Tail}` ? Tail : never;

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
  : WithRelated<TargetFields<Field>, TargetOf<Field>, Rest>;

/** The type of a model's primary key, by the class of its instances. */
export type KeyOf<M> = PrimaryKey<FieldsOf<M>>;
