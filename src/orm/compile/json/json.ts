import type { ColumnKind, ColumnType, ModelMeta } from "../../meta.js";
import type { ExpressionNode, Query, RelatedTree } from "../../nodes.js";
import type { Compiled, Compiler } from "../compiler.js";
import { relatedColumns, selectedColumns } from "../query-parts.js";
import { resolveJoined, resolvePath, type Scope } from "../scope.js";
import { jsonValue, prefetchedText } from "./json-nested.js";
import type { JsonColumn, JsonPlan, JsonRelated, JsonValue } from "./json-plan.js";

export interface CompiledJson extends Compiled {
  readonly plan: JsonPlan;
}

/**
 * A statement whose rows are written as JSON without a conversion to values. Most columns are selected unchanged: their
 * text is easily written as JSON here, and PostgreSQL's own functions for it take longer than finding the rows. All
 * other values are selected as JSON.
 */
export function jsonStatement(query: Query, compiler: Compiler): CompiledJson {
  const scope = compiler.scope(query);
  const list = new SelectList();
  const values = query.selection
    ? query.selection.fields.map(({ name, expression }) =>
        list.add(name, ...expressionValue(compiler, expression, scope)),
      )
    : modelValues(query, scope, compiler, list);
  return {
    text: list.wrap(compiler.assemble(query, scope, list.columns, { names: list.names })),
    params: compiler.params,
    plan: { shape: query.selection?.shape ?? "object", values },
  };
}

/**
 * The form of a selected value: its text, its text in quotes (`exact`), text that is JSON (`json`), or a value that
 * PostgreSQL converts to JSON (`converted`).
 */
type Form = "text" | "exact" | "json" | "converted";

/** The columns of the statement in the order in which they were added. */
class SelectList {
  readonly columns: string[] = [];
  readonly #converted: boolean[] = [];

  add(name: string, sql: string, form: Form): JsonColumn {
    this.#converted.push(form === "converted");
    return { name, at: this.columns.push(sql) - 1, exact: form === "exact", json: form === "json" };
  }

  get names(): string[] | undefined {
    return this.#converted.includes(true) ? this.columns.map((_, at) => `c${at}`) : undefined;
  }

  /**
   * Converts values to JSON around the query, not inside. Inside, an expression may not have a type yet, and values of
   * type json cannot be compared.
   */
  wrap(select: string): string {
    if (!this.#converted.includes(true)) return select;
    const list = this.#converted.map((converted, at) => (converted ? `to_json(r.c${at})` : `r.c${at}`));
    return `SELECT ${list.join(", ")} FROM (${select}) r`;
  }
}

const textForms: { readonly [K in ColumnKind]?: Form } = {
  smallInt: "text",
  int: "text",
  bigInt: "exact",
  float: "text",
  decimal: "exact",
  bool: "text",
  char: "text",
  text: "text",
  uuid: "text",
  json: "text",
  datetime: "text",
  date: "text",
  time: "text",
  enum: "text",
};

function columnValue(sql: string, type: ColumnType): [sql: string, form: Form] {
  const local = type.kind === "datetime" && type.timezone === false;
  const form = local ? undefined : textForms[type.kind];
  return form === undefined ? [type.jsonSql ? type.jsonSql(sql) : sql, "converted"] : [sql, form];
}

/** The model gives the type of a column. Only PostgreSQL knows the type of another expression. */
function expressionValue(compiler: Compiler, expression: ExpressionNode, scope: Scope): [sql: string, form: Form] {
  if (expression.type === "path") {
    const { path } = expression;
    const found = scope.manyPaths.includes(path) ? resolveJoined(scope, path) : resolvePath(scope, path);
    if (found.kind === "column" && found.rest.length === 0)
      return columnValue(found.scope.column(found.column), found.column.type);
  }
  return [jsonValue(compiler, expression, scope), "converted"];
}

function modelValues(query: Query, scope: Scope, compiler: Compiler, list: SelectList): JsonValue[] {
  return [
    ...columnValues(query.meta, scope, selectedColumns(query), list),
    ...Object.entries(query.annotations).map(([name, node]) =>
      list.add(name, ...expressionValue(compiler, node, scope)),
    ),
    ...relatedValues(query.meta, query.related, scope, list),
    ...query.prefetch.map((node) =>
      list.add(node.as ?? node.relation, prefetchedText(query, node, scope, compiler), "json"),
    ),
  ];
}

function columnValues(meta: ModelMeta, scope: Scope, only: ReadonlySet<number> | null, list: SelectList): JsonColumn[] {
  return meta.columns
    .filter((column) => !column.hidden && (only === null || only.has(column.index)))
    .map((column) => list.add(column.attribute, ...columnValue(scope.column(column), column.type)));
}

function relatedValues(meta: ModelMeta, tree: RelatedTree, scope: Scope, list: SelectList): JsonRelated[] {
  return Object.keys(tree).map((name) => {
    const { target } = meta.relations.get(name)!;
    const inner = scope.join(meta.relations.get(name)!);
    const columns = columnValues(target, inner, relatedColumns(target, tree[name]!), list);
    const key = target.primaryKey[0]!;
    const { at } = columns.find((column) => column.name === key.attribute) ?? list.add("", inner.column(key), "text");
    return { name, keyAt: at, values: [...columns, ...relatedValues(target, tree[name]!.related, inner, list)] };
  });
}
