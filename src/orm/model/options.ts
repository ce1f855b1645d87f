import { SqlFragment } from "../../engines/db/sql/sql.js";
import { checkedOptions } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { IndexMeta } from "../meta.js";

/** An index over fields or expressions. `-` before a field means descending order. */
export interface IndexOptions<Name extends string = string> {
  readonly fields?: readonly (Name | `-${Name}`)[] | undefined;
  /** SQL expressions: `lower(title)`. */
  readonly expressions?: readonly string[] | undefined;
  readonly name?: string | undefined;
  readonly unique?: boolean | undefined;
  readonly method?: IndexMeta["method"] | undefined;
  /** Nulls are equal to one another in a unique index. Needs PostgreSQL 15. */
  readonly nullsNotDistinct?: boolean | undefined;
  /** The condition of a partial index, as SQL. */
  readonly where?: string | undefined;
  readonly include?: readonly Name[] | undefined;
  /** The operator class of every part: `gin_trgm_ops`. */
  readonly operatorClass?: string | undefined;
}

export interface UniqueOptions<Name extends string = string> {
  readonly fields: readonly Name[];
  readonly name?: string | undefined;
  /** True: two nulls are equal. Needs PostgreSQL 15. */
  readonly nullsNotDistinct?: boolean | undefined;
}

/** Options of a model's table. */
export interface ModelOptions<Name extends string = string, Key extends readonly Name[] = readonly Name[]> {
  readonly schema?: string | undefined;
  /** The fields of a composite primary key. */
  readonly primaryKey?: Key | undefined;
  readonly indexes?: readonly (IndexOptions<Name> | readonly Name[])[] | undefined;
  readonly unique?: readonly (UniqueOptions<Name> | readonly Name[])[] | undefined;
  /** Conditions on rows, as SQL. */
  readonly checks?: readonly (string | { readonly name: string; readonly sql: string })[] | undefined;
  /** The order of querysets without `orderBy()`. */
  readonly ordering?: readonly (Name | `-${Name}`)[] | undefined;
  readonly comment?: string | undefined;
  /** False: migrations ignore the table. */
  readonly managed?: boolean | undefined;
  /** The previous name of the table; the next migration renames it. */
  readonly renamedFrom?: string | undefined;
}

/** Options of a view. */
export interface ViewOptions<Name extends string = string, Key extends readonly Name[] = readonly Name[]>
  extends Pick<ModelOptions<Name, Key>, "schema" | "primaryKey" | "ordering" | "indexes"> {
  /**
   * Its rows: a SELECT, or a function that returns a queryset. The values have the names of the columns, those of a queryset the
   * names of the fields, and are converted to the types of the fields. Without it, migrations do not touch the view.
   */
  // Not the type of a function: the compiler would follow its result to models that refer to the view, and back.
  readonly as?: string | object | undefined;
  /** The rows are stored, and change with `refresh()` only. */
  readonly materialized?: boolean | undefined;
}

const modelFields = checkedOptions<ModelOptions>({
  schema: is.text,
  primaryKey: is.strings,
  indexes: is.list(is.object),
  unique: is.list(is.object),
  checks: is.list(is.either(is.text, is.object)),
  ordering: is.strings,
  comment: is.string,
  managed: is.boolean,
  renamedFrom: is.text,
});

const viewFields = checkedOptions<ViewOptions>({
  schema: is.text,
  primaryKey: is.strings,
  ordering: is.strings,
  indexes: is.list(is.object),
  as: (value) =>
    typeof value === "function" || value instanceof SqlFragment || (typeof value === "string" && value.trim() !== "")
      ? undefined
      : "SQL or a function",
  materialized: is.boolean,
});

const indexFields = checkedOptions<IndexOptions>({
  fields: is.strings,
  expressions: is.strings,
  name: is.text,
  unique: is.boolean,
  method: is.oneOf("btree", "hash", "gin", "gist", "brin", "spgist"),
  nullsNotDistinct: is.boolean,
  where: is.text,
  include: is.strings,
  operatorClass: is.text,
});

const uniqueFields = checkedOptions<UniqueOptions>({ fields: is.strings, name: is.text, nullsNotDistinct: is.boolean });

export function readModelOptions(table: string, given: unknown): Partial<ModelOptions> {
  return modelFields(`the model of ${table}`, given);
}

export function readViewOptions(table: string, given: unknown): Partial<ViewOptions> {
  return viewFields(`the view ${table}`, given);
}

export function readIndex(table: string, given: IndexOptions | readonly string[]): Partial<IndexOptions> {
  return Array.isArray(given) ? { fields: given as string[] } : indexFields(`an index of ${table}`, given);
}

export function readUnique(table: string, given: UniqueOptions | readonly string[]): Partial<UniqueOptions> {
  return Array.isArray(given) ? { fields: given as string[] } : uniqueFields(`a unique constraint of ${table}`, given);
}
