/** The types of joins with other querysets, and of rows that are reached step by step. */

import type { FieldsOf, RelationNames, TargetOf, tableOf } from "../fields/types.js";
import type { NameOfField } from "./condition-types.js";
import type { AnyName, ColumnName, Name, NoSuchField, PathValue, SeveralFields } from "./path-types.js";
import type { Merged } from "./row-types.js";

/** The names of a joined row: those of its values, or the columns of a model. */
type NamesOf<Row> = [Extract<typeof tableOf, keyof Row>] extends [never]
  ? keyof Row & string
  : ColumnName<Row> & string;

/** The fields of a joined row that can be compared with a value. */
type Matching<Row, Value> = {
  [K in NamesOf<Row>]: Valued<Row, K> extends Value ? K : Value extends Valued<Row, K> ? K : never;
}[NamesOf<Row>];

type Valued<Row, K> = NonNullable<ValueIn<Row, K>>;

/** The value of a joined row. The name of a relation stands for its key. */
type ValueIn<Row, K> = [Extract<typeof tableOf, keyof Row>] extends [never]
  ? K extends keyof Row
    ? Row[K]
    : never
  : K extends string
    ? PathValue<FieldsOf<Row>, unknown, K>
    : never;

/** The argument of a join, if its fields exist and have types that can be compared. */
export interface Joining<M, A, Other, On, Select> {
  /** Fields of the model, with the fields of the other rows that they are equal to. */
  readonly on: { readonly [K in keyof On]: [AnyName] extends [On[K]] ? unknown : Compared<M, A, Other, K, On[K]> };
  /** New names, with the fields of the other rows whose values they hold. */
  readonly select?: {
    readonly [K in keyof Select]: [AnyName] extends [Select[K]] ? unknown : Selected<M, Other, K, Select[K]>;
  };
}

/** No pairs of names. */
export type Empty = Readonly<Record<never, never>>;

/** Names, with names of the other rows. */
export type Pairs = Readonly<Record<string, Name>>;

type Compared<M, A, Other, K, Given> = [PathValue<FieldsOf<M>, A, K & string>] extends [
  NoSuchField<string> | SeveralFields | null,
]
  ? NoSuchField<K & string>
  : Given extends Matching<Other, NonNullable<PathValue<FieldsOf<M>, A, K & string>>>
    ? Given
    : NoInfer<Matching<Other, NonNullable<PathValue<FieldsOf<M>, A, K & string>>>>;

type Selected<M, Other, K, Given> = K extends keyof FieldsOf<M>
  ? NameOfField<K>
  : Given extends NamesOf<Other>
    ? Given
    : NoInfer<NamesOf<Other>>;

/** The values that a join adds to each row. `Otherwise` is their value if there is no other row. */
type Joined<Other, Select, Otherwise> = {
  -readonly [K in keyof Select]: ValueIn<Other, Select[K]> | Otherwise;
};

/** A row with the values that a join adds. */
export type JoinedRow<Row, Other, Select extends Pairs, Otherwise> = [AnyName] extends [Select[keyof Select]]
  ? Row
  : [keyof Select] extends [never]
    ? Row
    : Merged<Row, Joined<Other, Select, Otherwise>>;
export type JoinedIn<A, Other, Select extends Pairs, Otherwise> = [AnyName] extends [Select[keyof Select]]
  ? A
  : [keyof Select] extends [never]
    ? A
    : A & Joined<Other, Select, Otherwise>;

/** A relation of a model to itself. Otherwise the names of those, which editors suggest. */
export type CheckedSelf<M, Name> = Name extends SelfNames<M> ? Name : NoInfer<SelfNames<M>>;
type SelfNames<M> = {
  [K in RelationNames<FieldsOf<M>>]: TargetOf<FieldsOf<M>[K]> extends Pick<M, Extract<typeof tableOf, keyof M>>
    ? K
    : never;
}[RelationNames<FieldsOf<M>>];

/** A row with its depth, if that has a name. */
export type WithDepth<Row, Depth extends string> = [Depth] extends [never]
  ? Row
  : Merged<Row, { [K in Depth]: number }>;
export type DepthIn<A, Depth extends string> = [Depth] extends [never] ? A : A & { [K in Depth]: number };
