import type { ColumnType, ReferentialAction } from "../meta.js";

/** What every field can be told. `In` is what may be written to it. */
export interface FieldOptions<In> {
  /** Allows null; false by default. */
  readonly null?: boolean | undefined;
  /** A value, or a function called for each new row. */
  readonly default?: In | (() => In) | undefined;
  /** A default that the database computes, as SQL: `gen_random_uuid()`. */
  readonly defaultSql?: string | undefined;
  readonly unique?: boolean | undefined;
  /** An index on this column alone. */
  readonly index?: boolean | undefined;
  readonly primaryKey?: boolean | undefined;
  /** The column's name, when it is not the field's in snake_case. */
  readonly column?: string | undefined;
  /** Ignored in bodies sent by clients. */
  readonly readOnly?: boolean | undefined;
  /** Left out of JSON: a password, an internal note. */
  readonly hidden?: boolean | undefined;
  /** A condition on the column, as SQL: `price >= 0`. */
  readonly check?: string | undefined;
  /** Computed by the database from other columns, as SQL. */
  readonly generated?: string | undefined;
  readonly comment?: string | undefined;
  /** The field's former name; a migration renames the column in place of dropping it. */
  readonly renamedFrom?: string | undefined;
}

export interface TextOptions extends FieldOptions<string> {
  readonly collation?: string | undefined;
}

export interface TimeOptions<In> extends FieldOptions<In> {
  /** The current time whenever the row is saved. */
  readonly autoNow?: boolean | undefined;
  /** The current time when the row is made. */
  readonly autoNowAdd?: boolean | undefined;
}

export interface RelationOptions {
  readonly null?: boolean | undefined;
  readonly default?: unknown;
  readonly unique?: boolean | undefined;
  /** An index on the column; true by default, because deleting the row referred to looks for it. */
  readonly index?: boolean | undefined;
  readonly primaryKey?: boolean | undefined;
  readonly column?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly hidden?: boolean | undefined;
  readonly comment?: string | undefined;
  readonly renamedFrom?: string | undefined;
  /** The name of the way back, on the model referred to. */
  readonly relatedName?: string | undefined;
  /** The field referred to, when it is not the primary key. */
  readonly to?: string | undefined;
  /** What happens to this row when the other is deleted; `cascade` by default. */
  readonly onDelete?: ReferentialAction | undefined;
  readonly onUpdate?: ReferentialAction | undefined;
  /** Checks the constraint at the end of the transaction. */
  readonly deferred?: boolean | undefined;
  /** False: no constraint in the database. */
  readonly constraint?: boolean | undefined;
}

export interface ManyToManyOptions {
  readonly relatedName?: string | undefined;
  /** The model between, when it has more to say than the two keys. */
  readonly through?: (() => unknown) | undefined;
  /** The fields of `through` that lead to this model and to the other; found by themselves unless there are several. */
  readonly throughFields?: readonly [string, string] | undefined;
  /** The name of the table between, when there is no `through`. */
  readonly table?: string | undefined;
}

/** What a field was declared as, at run time. */
export type FieldSpec =
  | {
      readonly form: "column";
      readonly type: ColumnType;
      readonly options: TextOptions & TimeOptions<unknown>;
      readonly auto?: boolean;
      readonly softDelete?: boolean;
    }
  | { readonly form: "toOne"; readonly target: () => unknown; readonly one: boolean; readonly options: RelationOptions }
  | { readonly form: "reverse"; readonly target: () => unknown; readonly via: string; readonly one: boolean }
  | { readonly form: "manyToMany"; readonly target: () => unknown; readonly options: ManyToManyOptions };

export class FieldDefinition {
  readonly spec: FieldSpec;

  constructor(spec: FieldSpec) {
    this.spec = spec;
  }
}
