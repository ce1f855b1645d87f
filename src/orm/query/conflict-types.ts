import type { AnyExpression } from "../expressions/expression.js";
import type { FieldsOf } from "../fields/types.js";
import type { ExpressionFor } from "./condition-types.js";
import type { LookupValue, WhereKeys } from "./where-types.js";

/** The condition for the update of a row that conflicts: lookups of the row in the table, or an expression such as `test(...)`. */
export type ConflictWhere<M> = ConflictLookups<M> | AnyExpression;

type ConflictLookups<M> = {
  readonly [K in WhereKeys<FieldsOf<M>, unknown>]?:
    | LookupValue<FieldsOf<M>, unknown, K>
    | ExpressionFor<M, unknown, LookupValue<FieldsOf<M>, unknown, K>>;
};
