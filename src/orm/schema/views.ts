/** The SQL of views. */

import { formatBytes } from "../../engines/db/values/bytes.js";
import { encodeParameters } from "../../engines/db/values/encode.js";
import { sqlTokens } from "../../kit/sql-tokens.js";
import { ValueError } from "../../kit/value-error.js";
import { Compiler } from "../compile/compiler.js";
import { queryOf } from "../compile/operands.js";
import { literal, quote } from "../identifiers.js";
import type { ModelMeta } from "../meta.js";
import { values } from "../query/builders.js";
import { columnList, splitName, sqlName } from "./names.js";
import { createIndexSql, createSchemaFor } from "./render.js";
import type { ViewState } from "./state.js";

/** The SELECT of a view. Around that of `as`, it converts values to the types of the fields: the database has what rows promise. */
export function viewSelect(meta: ModelMeta): string {
  const list = meta.columns.map(
    ({ column, type }) => `source.${quote(column)}::${castType(type.sqlType)} AS ${quote(column)}`,
  );
  return `SELECT ${list.join(", ")} FROM (${sourceOf(meta)}`;
}

/** A cast to a limited text would cut values off without a word. */
function castType(type: string): string {
  return type.replace(/^(varchar|char)\(\d+\)/, "$1");
}

function sourceOf(meta: ModelMeta): string {
  const as = meta.view!.as!;
  if (typeof as !== "function") {
    const { text, params } = typeof as === "string" ? { text: as.trim(), params: [] } : as;
    if ([...sqlTokens(text)].some((token) => token.text === ";"))
      throw new ValueError(`the view ${meta.name} takes one SELECT, without a semicolon`);
    // A separate line: the text may end with a comment.
    return `${withValues(text, params)}\n) AS source`;
  }
  const given = queryOf(as());
  if (given === undefined) throw new ValueError(`'as' of the view ${meta.name} must return a queryset, or be SQL`);
  const query = given.selection ? given : values(given, [], "object");
  const columns = query.selection!.fields.map(({ name }) => {
    const column = meta.column(name);
    if (column === undefined)
      throw new ValueError(`the queryset of the view ${meta.name} has '${name}', which is no field of it`);
    return column;
  });
  const missing = meta.columns.find((column) => !columns.includes(column));
  if (missing) throw new ValueError(`the queryset of the view ${meta.name} has no '${missing.name}'`);
  const compiler = new Compiler();
  const text = compiler.subselect(query, null, "values");
  return `${withValues(text, compiler.params)}) AS source (${columnList(columns.map(({ column }) => column))})`;
}

/** The text with values in place of its parameters: the definition of a view cannot have any. PostgreSQL gives both the same types. */
function withValues(text: string, params: readonly unknown[]): string {
  if (params.length === 0) return text;
  const encoded = encodeParameters(params, null).map((value) =>
    value === null ? "NULL" : literal(typeof value === "string" ? value : formatBytes(value)),
  );
  return [...sqlTokens(text)]
    .map((token) => (token.kind === "parameter" ? encoded[Number(token.text.slice(1)) - 1]! : token.text))
    .join("");
}

export function createViewStatements(name: string, { as, materialized, indexes = {} }: ViewState): string[] {
  return [
    ...createSchemaFor(name),
    `CREATE ${kindOf(materialized)} ${sqlName(name)} AS\n${as}`,
    ...Object.entries(indexes).map(([index, state]) => createIndexSql(name, index, state)),
  ];
}

export function dropViewSql(name: string, { materialized }: ViewState, words: "" | "IF EXISTS " = ""): string {
  return `DROP ${kindOf(materialized)} ${words}${sqlName(name)}`;
}

function kindOf(materialized: boolean | undefined): string {
  return materialized ? "MATERIALIZED VIEW" : "VIEW";
}

/** True if the SELECT of a view may read a table or a view: it contains the name. In doubt it does. */
export function reads({ as }: ViewState, table: string): boolean {
  const { name } = splitName(table);
  return [...sqlTokens(as)].some(({ kind, text }) =>
    kind === "name" ? text.slice(1, -1).replaceAll('""', '"') === name : kind === "word" && text.toLowerCase() === name,
  );
}

/** The names of views, each after those that it reads. */
export function viewOrder(views: Readonly<Record<string, ViewState>> = {}): string[] {
  const done = new Set<string>();
  const open = new Set<string>();
  const visit = (name: string): void => {
    if (open.has(name)) return;
    open.add(name);
    for (const other of Object.keys(views)) if (other !== name && reads(views[name]!, other)) visit(other);
    done.add(name);
  };
  Object.keys(views).forEach(visit);
  return [...done];
}
