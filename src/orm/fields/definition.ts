import type { ColumnType, ReferentialAction } from "../meta.js";

/** Options of every field. `In` is the type of values that can be written, `Out` that of values in rows. */
export interface FieldOptions<In, Out = In> {
  /** Allows null; false by default. */
  readonly null?: boolean | undefined;
  /** A value, or a function that is called for each new row. */
  readonly default?: In | (() => In) | undefined;
  /** A default that the database computes, as SQL: `gen_random_uuid()`. */
  readonly defaultSql?: string | undefined;
  /** No two rows have the same value; the database has a unique index. */
  readonly unique?: boolean | undefined;
  /** An index on this column alone. */
  readonly index?: boolean | undefined;
  /** Makes this column the primary key. */
  readonly primaryKey?: boolean | undefined;
  /** The name of the column; the field's name in snake_case by default. */
  readonly column?: string | undefined;
  /** Ignored in bodies sent by clients. */
  readonly readOnly?: boolean | undefined;
  /** Not part of JSON: a password, an internal note. */
  readonly hidden?: boolean | undefined;
  /** A condition on the column, as SQL: `price >= 0`. */
  readonly check?: string | undefined;
  /** Computed by the database from other columns, as SQL. */
  readonly generated?: string | undefined;
  /** A comment on the column in the database. */
  readonly comment?: string | undefined;
  /** The previous name of the field; the next migration renames the column instead of dropping it. */
  readonly renamedFrom?: string | undefined;
  /**
   * Checks a value that is written, and one of a body. Returns what is wrong, for clients: `"Input should be even"`. Not called
   * with null.
   */
  validate?(value: Out): string | undefined;
}

export interface NumberOptions<In, Out = In> extends FieldOptions<In, Out> {
  /** The smallest value that can be written. */
  readonly min?: In | undefined;
  /** The largest value that can be written. */
  readonly max?: In | undefined;
}

export interface TextOptions extends FieldOptions<string> {
  /** The smallest number of characters. */
  readonly minLength?: number | undefined;
  /** Values match it; without `^` and `$` a part of the value is enough. */
  readonly pattern?: RegExp | undefined;
  /** The collation of the column, such as `C` or `de-x-icu`. */
  readonly collation?: string | undefined;
}

export interface TimeOptions<In, Out = In> extends FieldOptions<In, Out> {
  /** Set to the current time whenever the row is saved. */
  readonly autoNow?: boolean | undefined;
  /** Set to the current time when the row is created. */
  readonly autoNowAdd?: boolean | undefined;
}

/** Options of a foreign key, over one field or several. */
interface ForeignKeyOptions {
  /** The name of the reverse relation on the other model. */
  readonly relatedName?: string | undefined;
  /** No two rows refer to the same row. */
  readonly unique?: boolean | undefined;
  /** The action when the referenced row is deleted; `cascade` by default. */
  readonly onDelete?: ReferentialAction | undefined;
  /** The action when the key of the referenced row changes; none by default. */
  readonly onUpdate?: ReferentialAction | undefined;
  /** Checks the constraint at the end of the transaction. */
  readonly deferred?: boolean | undefined;
  /** False: no constraint in the database. A text: the name of the constraint. */
  readonly constraint?: boolean | string | undefined;
}

export interface RelationOptions
  extends ForeignKeyOptions,
    Pick<FieldOptions<unknown>, "primaryKey" | "readOnly" | "hidden" | "comment" | "renamedFrom"> {
  /** Allows that there is no related row; false by default. */
  readonly null?: boolean | undefined;
  /** The key of the related row for new rows, or a function that returns it. */
  readonly default?: unknown;
  /** An index on the column; true by default, because PostgreSQL searches it when the referenced row is deleted. */
  readonly index?: boolean | undefined;
  /** The name of the column; by default the name of the field in snake_case, with `_id`. */
  readonly column?: string | undefined;
  /** The referenced field; the primary key by default. */
  readonly to?: string | undefined;
}

/** Options of a foreign key over several fields. */
export interface CompositeOptions extends ForeignKeyOptions {
  /** The referenced fields, in the order of the fields that refer to them; the primary key by default. */
  readonly references?: readonly string[] | undefined;
  /** True if one of the fields can be null: there may be no row. */
  readonly null?: boolean | undefined;
  /** An index over the fields; true by default, unless the primary key begins with them. */
  readonly index?: boolean | undefined;
  /** The fields that `onDelete: "set null"` sets to null; all by default. Needs PostgreSQL 15. */
  readonly setNull?: readonly string[] | undefined;
  /** True: the fields are all null or none is. By default, a key with one null refers to nothing. */
  readonly matchFull?: boolean | undefined;
}

export interface ManyToManyOptions {
  /** The name of the reverse relation on the other model. */
  readonly relatedName?: string | undefined;
  /** The model of the join table, if it has columns besides the two keys. */
  readonly through?: (() => unknown) | undefined;
  /** The foreign keys of `through` to this model and to the other one; needed only if there are several. */
  readonly throughFields?: readonly [string, string] | undefined;
  /** The name of the join table if there is no `through`. Its columns are named after the two tables: `product_id`, `tag_id`. */
  readonly table?: string | undefined;
}

/** The options of all columns. */
export type ColumnOptions = Omit<TextOptions, "default" | "validate"> & NumberOptions<unknown> & TimeOptions<unknown>;

/** The declaration of a field, at run time. */
export type FieldSpec =
  | {
      readonly form: "column";
      readonly type: ColumnType;
      readonly options: ColumnOptions;
      readonly auto?: boolean;
      readonly softDelete?: boolean;
      readonly version?: boolean;
    }
  | { readonly form: "toOne"; readonly target: () => unknown; readonly one: boolean; readonly options: RelationOptions }
  | {
      readonly form: "composite";
      readonly target: () => unknown;
      readonly fields: readonly string[];
      readonly options: CompositeOptions;
    }
  | { readonly form: "reverse"; readonly target: () => unknown; readonly via: string; readonly one: boolean }
  | { readonly form: "manyToMany"; readonly target: () => unknown; readonly options: ManyToManyOptions };

export class FieldDefinition {
  constructor(readonly spec: FieldSpec) {}
}
