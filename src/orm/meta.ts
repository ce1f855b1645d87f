/**
 * The metadata of a model at run time. Migrations, body validation, OpenAPI and the query compiler read only this. It is
 * complete once every model it refers to is declared: references are resolved on first use.
 */

import type { Statement } from "../engines/db/database.js";
import type { Refusal } from "./body/refusal.js";
import type { IndexMethod, IndexPart, ReferentialRule } from "./schema/state.js";

/** The kind of a column: the name of the `field` function. A foreign key has the kind of the column it refers to. */
export type ColumnKind =
  | "smallInt"
  | "int"
  | "bigInt"
  | "float"
  | "decimal"
  | "bool"
  | "char"
  | "text"
  | "uuid"
  | "json"
  | "datetime"
  | "date"
  | "time"
  | "interval"
  | "bytes"
  | "array"
  | "enum"
  | "searchVector"
  | "custom";

/** The JSON schema of a value. */
export interface JsonShape {
  readonly type?: "string" | "integer" | "number" | "boolean" | "array" | "object";
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly items?: JsonShape;
  readonly contentEncoding?: string;
}

/** The type of a column, without the options of the model. */
export interface ColumnType {
  readonly kind: ColumnKind;
  /** As PostgreSQL names it in a cast or a column definition: `varchar(200)`, `timestamp with time zone`. */
  readonly sqlType: string;
  readonly maxLength?: number;
  readonly precision?: number;
  readonly scale?: number;
  /** The smallest and largest value; bigint for a `bigInt` column. */
  readonly range?: { readonly min: number | bigint; readonly max: number | bigint };
  /** The values of an enum. With `enumName` it is a type of the database; otherwise the column is text with a check. */
  readonly choices?: readonly string[];
  readonly enumName?: string;
  /** The type of an array's items. */
  readonly item?: ColumnType;
  /** False for a datetime or time without time zone. */
  readonly timezone?: boolean;
  readonly json: JsonShape;
  /** Checks a value as rows have it, by the rules of the field; absent if there are none. Not called with null. */
  readonly rule?: (value: unknown) => Refusal | undefined;
  /** Converts a value to a parameter; absent if they are the same. Throws `Parameter*Error`. */
  readonly encode?: (value: unknown) => unknown;
  /** Converts a value of the database; absent if no conversion is needed. Not called with null. */
  readonly decode?: (value: unknown) => unknown;
  /** Converts a value to JSON; absent if JSON.stringify is enough. Not called with null. */
  readonly toJson?: (value: unknown) => unknown;
  /** An SQL expression with the same JSON as `toJson`; absent if `to_json` is enough. */
  readonly jsonSql?: (column: string) => string;
  /** An SQL expression that is selected instead of the column, if drivers would lose information. */
  readonly selectSql?: (column: string) => string;
}

export type ColumnDefault =
  | { readonly from: "value"; readonly value: unknown }
  /** Called for each new row in the application; the database has no default. */
  | { readonly from: "function"; readonly make: () => unknown }
  | { readonly from: "sql"; readonly sql: string };

export type ReferentialAction = ReferentialRule;

export interface ColumnReference {
  /** The model referred to. */
  readonly target: ModelMeta;
  /** The referenced column; the primary key of the target by default. */
  readonly column: ColumnMeta;
  readonly onDelete: ReferentialAction;
  readonly onUpdate: ReferentialAction;
  /** Checked at the end of the transaction. */
  readonly deferred: boolean;
  /** False: a relation without a constraint in the database. A text is the name of the constraint. */
  readonly constraint: boolean | string;
}

/** A foreign key over several columns. The foreign key of one column is its `reference`. */
export interface ForeignKeyMeta extends Omit<ColumnReference, "column"> {
  /** The name of the field that declares it. */
  readonly name: string;
  readonly columns: readonly ColumnMeta[];
  /** The referenced columns, in the order of `columns`; the primary key of the target by default. */
  readonly references: readonly ColumnMeta[];
  readonly nullable: boolean;
  readonly unique: boolean;
  /** True for an index over the columns. */
  readonly indexed: boolean;
  /** The columns that `set null` sets to null; undefined for all. */
  readonly setNull: readonly ColumnMeta[] | undefined;
  /** True if the database refuses a key of which only some columns are null. */
  readonly matchFull: boolean;
}

export interface ColumnMeta {
  /** The name under which the field was declared: `author`. */
  readonly name: string;
  /**
   * The property of the column's value, and its key in JSON: `authorId` for a foreign key, otherwise the same as
   * `name`.
   */
  readonly attribute: string;
  /** The name in the database: `author_id`. */
  readonly column: string;
  /** Its place among the model's columns. */
  readonly index: number;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Part of the primary key. */
  readonly primaryKey: boolean;
  readonly unique: boolean;
  /** True for an index on this column alone; true by default for a foreign key. */
  readonly indexed: boolean;
  /** Numbered by the database (`generated by default as identity`). */
  readonly autoIncrement: boolean;
  readonly default: ColumnDefault | undefined;
  /** Set to the current time on every save, or only on insert. */
  readonly autoNow: boolean;
  readonly autoNowAdd: boolean;
  /** Computed by the database from other columns (`generated always as (...) stored`). */
  readonly generated: string | undefined;
  /** Ignored in bodies sent by clients. */
  readonly readOnly: boolean;
  /** Left out of JSON. */
  readonly hidden: boolean;
  /** The time of a soft delete: queries skip rows that have it. */
  readonly softDelete: boolean;
  /** Counts the updates of the row: a row that was changed since it was read is not written. */
  readonly version: boolean;
  /** True if an insert needs no value: the column is nullable, has a default, or is set automatically. */
  readonly optional: boolean;
  /** Set when the column is a foreign key; resolves the target on first use. */
  readonly reference: ColumnReference | undefined;
  readonly collation: string | undefined;
  readonly comment: string | undefined;
  /** The previous name of the field; a migration renames the column. */
  readonly renamedFrom: string | undefined;
}

export interface RelationMeta {
  readonly name: string;
  readonly kind: "foreignKey" | "oneToOne" | "reverse" | "reverseOne" | "manyToMany";
  /** True if it leads to at most one row. */
  readonly single: boolean;
  /** True if there may be no row; only meaningful if `single`. */
  readonly nullable: boolean;
  readonly source: ModelMeta;
  readonly target: ModelMeta;
  /** The column of the source that is equal to `targetColumn`, or to `through.sourceColumn`. */
  readonly sourceColumn: ColumnMeta;
  readonly targetColumn: ColumnMeta;
  /** All columns of the source, and the columns of the target that they are equal to: several for a composite key. */
  readonly sourceColumns: readonly ColumnMeta[];
  readonly targetColumns: readonly ColumnMeta[];
  /** The join table of a many-to-many relation. `own` is true if it was made for the relation. */
  readonly through:
    | {
        readonly meta: ModelMeta;
        readonly sourceColumn: ColumnMeta;
        readonly targetColumn: ColumnMeta;
        readonly own: boolean;
      }
    | undefined;
}

export interface IndexMeta {
  readonly name: string;
  /** Columns by name, or SQL expressions; each with its options. */
  readonly parts: readonly IndexPart[];
  readonly unique: boolean;
  readonly method: IndexMethod;
  readonly nullsNotDistinct: boolean;
  /** The condition of a partial index, as SQL. */
  readonly where: string | undefined;
  /** Further columns kept in the index. */
  readonly include: readonly string[];
}

export interface CheckMeta {
  readonly name: string;
  readonly sql: string;
}

export interface UniqueMeta {
  readonly name: string;
  readonly columns: readonly string[];
  readonly nullsNotDistinct: boolean;
}

export interface ViewMeta {
  /** Its rows: SQL, or a function that returns a queryset. Undefined: migrations do not create the view. */
  readonly as: Statement | (() => unknown) | undefined;
  readonly materialized: boolean;
}

export interface ModelMeta {
  /** The name of the class. */
  readonly name: string;
  readonly table: string;
  /** Undefined: the search path decides. */
  readonly schema: string | undefined;
  /** Quoted, with its schema: as it stands in SQL. */
  readonly sqlName: string;
  readonly columns: readonly ColumnMeta[];
  /** One column, or several of a composite key. */
  readonly primaryKey: readonly ColumnMeta[];
  readonly relations: ReadonlyMap<string, RelationMeta>;
  /** The foreign keys over several columns. */
  readonly foreignKeys: readonly ForeignKeyMeta[];
  readonly indexes: readonly IndexMeta[];
  readonly checks: readonly CheckMeta[];
  readonly uniques: readonly UniqueMeta[];
  /** The default order of querysets: field names, with `-` for descending. */
  readonly ordering: readonly string[];
  readonly comment: string | undefined;
  /** False: migrations ignore the table (a view, or a table of another program). */
  readonly managed: boolean;
  /** Set if the model is a view: its rows are read only. */
  readonly view: ViewMeta | undefined;
  /** The previous name of the table; a migration renames it. */
  readonly renamedFrom: string | undefined;
  /** True for the join table of a many-to-many relation without `through`. */
  readonly automatic: boolean;
  /** A column by the name of its field, by its attribute or by its name in the database. */
  column(name: string): ColumnMeta | undefined;
  /** The class of the instances. */
  readonly model: ModelConstructor;
}

/** A model class, as the layers below the models use it. */
export interface ModelConstructor {
  new (values?: object): object;
  readonly meta: ModelMeta;
}
