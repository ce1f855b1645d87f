import { FieldError } from "../errors.js";
import type { ModelMeta } from "../meta.js";
import type { Query, RelatedTree, Selection } from "../nodes.js";
import { aggregatesMany, isAggregate } from "./aggregation.js";
import type { Context } from "./context.js";
import { columnSql, relatedColumns, selectedColumns } from "./query-parts.js";
import type { ExtraPlan, RelatedPlan, RowPlan } from "./row-plan.js";
import type { Scope } from "./scope.js";

/** The list of a SELECT, with the positions of the values in it. */
export interface SelectList {
  readonly list: string[];
  readonly plan: RowPlan;
}

/** The values that a query asks for; otherwise the columns of its model, of related rows, and the annotations. */
export function selectList(query: Query, scope: Scope, context: Context): SelectList {
  return query.selection ? valuesOf(query.selection, scope, context) : modelsOf(query, scope, context);
}

function valuesOf(selection: Selection, scope: Scope, context: Context): SelectList {
  const extras: ExtraPlan[] = [];
  const list = selection.fields.map(({ name, expression }, at) => {
    const type = context.typeOf(expression, scope);
    extras.push({ name, at, type });
    const sql = context.expression(expression, scope);
    return type?.selectSql ? type.selectSql(sql) : sql;
  });
  return {
    list: list.length > 0 ? list : ["1"],
    plan: { meta: scope.meta, columns: [], at: 0, related: [], extras },
  };
}

function modelsOf(query: Query, scope: Scope, context: Context): SelectList {
  const list: string[] = [];
  const plan = modelOf(query.meta, scope, selectedColumns(query), query.related, list);
  const extras = Object.entries(query.annotations).map(([name, node]): ExtraPlan => {
    if (isAggregate(node, query.annotations) && !aggregatesMany(node, scope)) {
      throw new FieldError(
        `the aggregate '${name}' is over the rows themselves: use values() before it, or aggregate()`,
      );
    }
    const type = context.typeOf(node, scope);
    const sql = context.expression(node, scope);
    return { name, at: list.push(type?.selectSql ? type.selectSql(sql) : sql) - 1, type };
  });
  return { list, plan: { ...plan, extras } };
}

/** Adds the columns of a model and of the rows that are loaded with it. */
function modelOf(
  meta: ModelMeta,
  scope: Scope,
  only: ReadonlySet<number> | null,
  tree: RelatedTree,
  list: string[],
): RowPlan {
  const columns = only ? meta.columns.filter((column) => only.has(column.index)) : meta.columns;
  const at = list.length;
  for (const column of columns) list.push(columnSql(column, scope));
  const related = Object.keys(tree).map((name): RelatedPlan => {
    const relation = meta.relations.get(name)!;
    const inner = scope.join(relation);
    const node = tree[name]!;
    const plan = modelOf(relation.target, inner, relatedColumns(relation.target, node), node.related, list);
    return { ...plan, relation, keyAt: plan.at + plan.columns.indexOf(relation.target.primaryKey[0]!) };
  });
  return { meta, columns, at, related, extras: [] };
}
