import { isQueries } from "../../engines/db/is-queries.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { jsonSchemaSymbol } from "../../validation/body-validator.js";
import { connectionFor } from "../database.js";
import type { readOnlyRows, WithKey } from "../fields/types.js";
import type { ViewMeta } from "../meta.js";
import type { QuerySet } from "../query/queryset.js";
import { BaseModel } from "./base-model.js";
import { declare } from "./declarations.js";
import { checkNames, type ModelClass, type ModelInstance, type ModelProperties } from "./model.js";
import { readViewOptions, type ViewOptions } from "./options.js";

/** The methods of a row of a view: those of a model's instance that read. */
export interface ViewInstance<F, Table extends string = string>
  extends Omit<ModelInstance<F, Table>, "save" | "delete" | "hardDelete" | "restore" | "refresh"> {
  /** Known to the compiler only: rows of views cannot be written. */
  readonly [readOnlyRows]: true;
  /** Reads all columns of the row again. */
  refresh(): Promise<this>;
}

const refreshOptions = options("refresh()", {
  /** Readers see the old rows meanwhile. Needs a primary key without duplicates, and rows from a first refresh. Default false. */
  concurrently: option(is.boolean, false),
  /** The transaction or database to write with. Default: the one of the request. */
  using: option(isQueries),
});

export interface RefreshOptions extends OptionsOf<typeof refreshOptions.fields> {}

type Instance<F, Table extends string> = ViewInstance<F, Table> & Readonly<ModelProperties<F>>;

/** The class that `View` returns; views extend it. */
// No common base with ModelClass: the compiler would resolve the rows of every model together with its class.
export interface ViewClass<F, Table extends string = string>
  extends Pick<ModelClass<F, Table>, ReadingMembers | typeof jsonSchemaSymbol> {
  new (): Instance<F, Table>;
  /** The compiler finds the instances of a relation here. */
  readonly prototype: Instance<F, Table>;
  /** A queryset of all rows: the start of every query. */
  readonly objects: QuerySet<Instance<F, Table>>;
  /** Computes the rows of a materialized view again. */
  refresh(options?: RefreshOptions): Promise<void>;
}

type ReadingMembers = "meta" | "DoesNotExist" | "MultipleObjectsReturned" | "raw";

/** Creates the base class of a view: a model whose rows are read only. Migrations create it with the rows of `as`. */
export function View<
  const Table extends string,
  F extends object,
  const Key extends readonly (keyof F & string)[] = [],
>(table: Table, fields: F, options?: ViewOptions<keyof F & string, Key>): ViewClass<WithKey<F, Key>, Table> {
  checkNames(table, fields);
  const { as, materialized = false, ...rest } = readViewOptions(table, options);
  if (rest.indexes && !materialized)
    throw new ValueError(`the view ${table} has no rows to index: use materialized: true, or index its tables`);
  const base = class extends BaseModel {
    static async refresh(given?: RefreshOptions): Promise<void> {
      const { concurrently, using } = refreshOptions.read([given]);
      // biome-ignore lint/complexity/noThisInStatic: a view is the class that extends this one.
      const { meta } = this;
      if (!materialized)
        throw new ValueError(`${meta.name} is not materialized: its rows are always those of its tables`);
      await connectionFor(using ?? null).execute(
        `REFRESH MATERIALIZED VIEW ${concurrently ? "CONCURRENTLY " : ""}${meta.sqlName}`,
      );
    }
  };
  declare(base, {
    table,
    fields,
    options: { ...rest, managed: as !== undefined },
    view: { as: as as ViewMeta["as"], materialized },
  });
  return base as unknown as ViewClass<WithKey<F, Key>, Table>;
}
