/** The types of `only` and `defer`: the fields that can be chosen, and the rows that they leave. */

import type { FieldsOf, KeyAttribute, PrimaryKeyNames, RelationNames, ToOneNames } from "../fields/types.js";
import type { ColumnName } from "./path-types.js";
import type { TailOf } from "./row-types.js";

/** A field of the rows, or of related rows that are loaded. Otherwise the names that exist, which editors suggest. */
export type CheckedField<M, Row, Path> =
  Path extends ColumnName<M>
    ? Path
    : Path extends `${infer Head}__${infer Rest}`
      ? Head extends LoadedNames<M, Row>
        ? `${Head}__${CheckedField<ItemOf<Row[Head]>, ItemOf<Row[Head]>, Rest> & string}`
        : NoInfer<FieldNames<M, Row>>
      : NoInfer<FieldNames<M, Row>>;

type FieldNames<M, Row> =
  | (ColumnName<M> & string)
  | { [K in LoadedNames<M, Row>]: `${K}__${ColumnName<ItemOf<Row[K]>> & string}` }[LoadedNames<M, Row>];

/** The relations that the query has loaded: their property is no promise and no set. */
type LoadedNames<M, Row> = {
  [K in RelationNames<FieldsOf<M>> & keyof Row]: [Extract<Row[K], PromiseLike<unknown>>] extends [never] ? K : never;
}[RelationNames<FieldsOf<M>> & keyof Row];

/** The related rows of a property: those of a list, or the only one. */
type ItemOf<Value> = Value extends readonly (infer Item)[] ? Item : NonNullable<Value>;

/** A row with only these fields, its primary key and its loaded relations. */
export type Only<M, Row, K extends string> = Changed<
  Row,
  Exclude<ColumnName<M>, Own<K> | PrimaryKeyNames<FieldsOf<M>> | AttributeOf<M, Own<K>> | LoadedKeys<M, Row>>,
  Extract<K, `${string}__${string}`>,
  "only"
>;

/** A row without these fields. */
export type Defer<M, Row, K extends string> = Changed<
  Row,
  Own<K> | AttributeOf<M, Own<K>>,
  Extract<K, `${string}__${string}`>,
  "defer"
>;

type Own<K> = K extends `${string}__${string}` ? never : K;
type AttributeOf<M, K> = K extends ToOneNames<FieldsOf<M>> ? KeyAttribute<K> : never;
type LoadedKeys<M, Row> =
  LoadedNames<M, Row> extends infer K ? (K extends ToOneNames<FieldsOf<M>> ? K | KeyAttribute<K> : never) : never;

type Changed<Row, Without, Nested extends string, Choice> = [Nested] extends [never]
  ? Omit<Row, Without & PropertyKey>
  : {
      [P in Exclude<keyof Row, Without>]: P extends Heads<Nested> ? Related<Row[P], TailOf<Nested, P>, Choice> : Row[P];
    };

type Heads<Path extends string> = Path extends `${infer Head}__${string}` ? Head : never;

type Related<Value, K extends string, Choice> = Value extends readonly (infer Item)[]
  ? Chosen<Item, K, Choice>[]
  : Value extends null
    ? null
    : Chosen<Value, K, Choice>;
type Chosen<Item, K extends string, Choice> = Choice extends "only" ? Only<Item, Item, K> : Defer<Item, Item, K>;
