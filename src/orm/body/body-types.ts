/** The types of parsed request bodies of a model. Nothing here exists at run time. */

import type {
  ColumnNames,
  FieldsOf,
  FlagsOf,
  ForeignKeyValue,
  KeyAttribute,
  OutOf,
  ToOneNames,
} from "../fields/types.js";

type Unsent<F> = { [K in keyof F]: FlagsOf<F[K]> & ("locked" | "readOnly") extends never ? never : K }[keyof F];
type Optional<F> = { [K in keyof F]: "optional" extends FlagsOf<F[K]> ? K : never }[keyof F];

type Columns<F> = Exclude<ColumnNames<F>, Unsent<F>>;
type Relations<F> = Exclude<ToOneNames<F>, Unsent<F>>;

type Flat<T> = { [K in keyof T]: T[K] };

/** The type of a body with `body: Book`: the values that `create` takes, with relations by their keys. */
export type FieldsBody<F> = Flat<
  { [K in Exclude<Columns<F>, Optional<F>>]: OutOf<F[K]> } & {
    [K in Columns<F> & Optional<F>]?: OutOf<F[K]>;
  } & { [K in Exclude<Relations<F>, Optional<F>> as KeyAttribute<K>]: ForeignKeyValue<F[K]> } & {
    [K in Relations<F> & Optional<F> as KeyAttribute<K>]?: ForeignKeyValue<F[K]>;
  }
>;

/** The type of a model's body, by the class of its instances. */
export type ModelBody<M> = FieldsBody<FieldsOf<M>>;

/** The type of a body with `body: partial(Book)`. */
export type PartialModelBody<M> = Partial<ModelBody<M>>;
