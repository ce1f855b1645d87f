/** The types of rows that are created together with their related rows. */

import type {
  ColumnNames,
  CompositeNames,
  FieldsOf,
  FlagsOf,
  ForeignKeyValue,
  KeyAttribute,
  KindOf,
  OptionalNames,
  OutOf,
  OverOf,
  PrimaryKey,
  PrimaryKeyNames,
  presence,
  ReverseOneNames,
  SavedRow,
  SingleNames,
  TargetFields,
  TargetOf,
  ToManyNames,
  ToOneNames,
  ViaOf,
} from "../fields/types.js";
import type { ColumnInput } from "./row-types.js";

/** The argument of `create`: columns, relations by key or by instance, and related rows that are created too. */
export type NestedInput<M> = InputOf<FieldsOf<M>, never>;

/** The values of a related row. `Back` is its field that refers to the row around it, which is set by itself. */
type NewRow<Field, Back extends string> = InputOf<TargetFields<Field>, SetBy<TargetFields<Field>, Back>> & NoInstance;

/** Instances of other models are no values of a row, even if they have the same columns. */
interface NoInstance {
  readonly [presence]?: never;
}

/** Changes of related rows, by relation: the calls of a related set, and rows that are created and updated. */
export type RelatedChanges<F> = { readonly [K in ToManyNames<F>]?: ChangesOf<F[K]> | undefined };

interface ChangesOf<Field> {
  /** The related rows are exactly these. */
  readonly set?: readonly RelatedRow<Field>[] | undefined;
  readonly add?: readonly RelatedRow<Field>[] | undefined;
  /** Rows that are no longer related. They must belong to the row. */
  readonly remove?: readonly RelatedRow<Field>[] | undefined;
  /** Rows that are deleted. They must belong to the row. */
  readonly delete?: readonly RelatedRow<Field>[] | undefined;
  /** New values of rows that belong to the row: their keys, and the columns that change. */
  readonly update?: readonly ChangedRow<TargetFields<Field>, Back<Field>>[] | undefined;
  /** Rows with a key that belongs to the row are updated, the others are created. */
  readonly upsert?: readonly (NewRow<Field, ViaOf<Field>> | ChangedRow<TargetFields<Field>, Back<Field>>)[] | undefined;
  readonly create?: readonly NewRow<Field, ViaOf<Field>>[] | undefined;
}

type RelatedRow<Field> = SavedRow<TargetOf<Field>> | PrimaryKey<TargetFields<Field>>;
type Back<Field> = SetBy<TargetFields<Field>, ViaOf<Field>>;

type ChangedRow<F, Set extends string> = {
  readonly [K in Exclude<PrimaryKeyNames<F> & ColumnNames<F>, Set>]: OutOf<F[K]>;
} & Partial<Omit<ColumnInput<F>, PrimaryKeyNames<F> | Set>> & {
    readonly [K in Exclude<ToOneNames<F>, Set>]?: SavedRow<TargetOf<F[K]>> | ForeignKeyValue<F[K]> | undefined;
  } & {
    readonly [K in Exclude<ToOneNames<F>, Set> as KeyAttribute<K>]?: ForeignKeyValue<F[K]> | undefined;
  } & NoInstance;

type InputOf<F, Back extends string> = OwnColumns<F, Back> & {
  readonly [K in Exclude<ToOneNames<F> & OptionalNames<F>, Back>]?: ToOneInput<F[K]> | undefined;
} & {
  readonly [K in Exclude<ToOneNames<F> & OptionalNames<F>, Back> as KeyAttribute<K>]?:
    | ForeignKeyValue<F[K]>
    | undefined;
} & { readonly [K in ToOneNames<F> & Back as K | KeyAttribute<K>]?: never } & RequiredToOnes<
    F,
    Exclude<ToOneNames<F>, OptionalNames<F> | Back>
  > & {
    readonly [K in ToManyNames<F>]?: readonly ToManyInput<F[K]>[] | undefined;
  } & {
    readonly [K in ReverseOneNames<F> | CompositeNames<F>]?:
      | NewRow<F[K], ViaOf<F[K]>>
      | SavedRow<TargetOf<F[K]>>
      | NullOf<F[K]>
      | undefined;
  };

/** The fields that refer to the row around a row, which are set by themselves: a foreign key, or the fields of one. */
type SetBy<F, Back extends string> = Back extends CompositeNames<F> ? Back | OverOf<F[Back & keyof F]> : Back;

type OwnColumns<F, Set extends string> = [Set & ColumnNames<F>] extends [never]
  ? ColumnInput<F>
  : Omit<ColumnInput<F>, Set>;

/** Null if there may be no row. */
type NullOf<Field> =
  KindOf<Field> extends "composite" ? (Extract<FlagsOf<Field>, "null"> extends never ? never : null) : null;

type ToOneInput<Field> = SavedRow<TargetOf<Field>> | ForeignKeyValue<Field> | NewRow<Field, never>;

/** Rows of a many-to-many relation can also be given by key. */
type ToManyInput<Field> =
  | NewRow<Field, ViaOf<Field>>
  | SavedRow<TargetOf<Field>>
  | (IsForeignKey<Field> extends true ? never : PrimaryKey<TargetFields<Field>>);

type IsForeignKey<Field> = [ViaOf<Field>] extends [never]
  ? false
  : ViaOf<Field> extends SingleNames<TargetFields<Field>>
    ? true
    : false;

type RequiredToOnes<F, Names extends keyof F & string> = [Names] extends [never] ? unknown : IntersectEach<F, Names>;

/** Each relation is given under one of its two names. The unions of several relations are intersected. */
type IntersectEach<F, Names extends keyof F & string> = (
  Names extends unknown
    ? (
        value:
          | ({ readonly [P in Names]: ToOneInput<F[Names]> } & { readonly [P in KeyAttribute<Names>]?: undefined })
          | ({ readonly [P in KeyAttribute<Names>]: ForeignKeyValue<F[Names]> } & {
              readonly [P in Names]?: undefined;
            }),
      ) => void
    : never
) extends (value: infer Value) => void
  ? Value
  : never;
