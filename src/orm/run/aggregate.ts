import { isAggregate } from "../compile/aggregation.js";
import { Compiler } from "../compile/compiler.js";
import type { Scope } from "../compile/scope.js";
import { conditionUsesWindow, usesWindow } from "../compile/windows.js";
import type { ColumnType } from "../meta.js";
import type { ExpressionNode, Query } from "../nodes.js";
import { decodeExtra } from "./hydrate.js";
import { bareRows, isSimple } from "./read.js";
import { send } from "./send.js";
import type { Values } from "./state.js";

type Entries = readonly (readonly [name: string, node: ExpressionNode])[];

/** Computes values over all rows of a query. */
export async function aggregate(query: Query, entries: Entries): Promise<Values> {
  const compiler = new Compiler();
  const bare = bareRows(query);
  const { text, types } = needsRows(bare) ? overRows(compiler, bare, entries) : overTable(compiler, bare, entries);
  const { rows } = await send(bare, (connection) => connection.fetchArrays(text, compiler.params));
  const row = rows[0] ?? [];
  return Object.fromEntries(
    entries.map(([name], at) => [name, decodeExtra({ name, at, type: types[at] }, row) ?? null]),
  );
}

interface Statement {
  readonly text: string;
  readonly types: readonly (ColumnType | undefined)[];
}

/** True if the rows must be computed before they are aggregated: for groups, and for aggregates and windows of each row. */
function needsRows({ selection, annotations, where, combined, sources }: Query): boolean {
  if (combined) return false;
  if (sources.length > 0) return true;
  if (
    selection?.grouped ||
    selection?.many.length ||
    where.some((condition) => conditionUsesWindow(condition, annotations))
  )
    return true;
  return Object.values(annotations).some((node) => isAggregate(node, annotations) || usesWindow(node, annotations));
}

/** The aggregates over a subquery. Its columns are those of the table and the annotations; for groups, only the values. */
function overRows(compiler: Compiler, query: Query, entries: Entries): Statement {
  const inner = compiler.scope(query);
  const { selection } = query;
  const grouped = selection !== null && (selection.grouped || selection.many.length > 0);
  const computed = grouped
    ? selection.fields.map(({ name, expression }) => [name, expression] as const)
    : Object.entries(query.annotations);
  const columns = grouped ? [] : query.meta.columns;
  const list = [
    ...columns.map((column) => inner.column(column)),
    ...computed.map(([, node]) => compiler.expression(node, inner)),
  ];
  const derived = Object.fromEntries(
    computed.map(([name, node], index): [string, ExpressionNode] => [
      name,
      { type: "derived", column: `stoa_${index}`, of: compiler.typeOf(node, inner) },
    ]),
  );
  const names = [
    ...columns.map((column) => inner.column(column).slice(inner.alias.length + 1)),
    ...computed.map((_, index) => `stoa_${index}`),
  ];
  const rows = compiler.assemble(query, inner, list.length === 0 ? ["1"] : list, {
    names: list.length === 0 ? ["one"] : names,
  });
  const scope = compiler.scope({ ...query, annotations: derived, selection: null, sources: [] });
  scope.grouped = true;
  scope.derivedOnly = grouped;
  const { list: outer, types } = compiledEntries(compiler, entries, scope);
  return { text: `SELECT ${outer.join(", ")} FROM (${rows}) ${scope.alias}${scope.joins}`, types };
}

function overTable(compiler: Compiler, given: Query, entries: Entries): Statement {
  const query: Query = { ...given, selection: null };
  const scope = compiler.scope(query);
  scope.grouped = true;
  const { list, types } = compiledEntries(compiler, entries, scope);
  if (isSimple(query)) return { text: compiler.assemble(query, scope, list), types };
  // The rows come from a subquery with the alias of the table, so that aggregates can name the table's columns.
  const inner = compiler.scope(query);
  const rows = query.combined ? combinedRows(compiler, query) : compiler.assemble(query, inner, [`${inner.alias}.*`]);
  return { text: `SELECT ${list.join(", ")} FROM (${rows}) ${scope.alias}${scope.joins}`, types };
}

function compiledEntries(
  compiler: Compiler,
  entries: Entries,
  scope: Scope,
): { list: string[]; types: (ColumnType | undefined)[] } {
  const types = entries.map(([, node]) => compiler.typeOf(node, scope));
  const list = entries.map(([, node], index) => {
    const sql = compiler.expression(node, scope);
    return types[index]?.selectSql ? types[index].selectSql(sql) : sql;
  });
  return { list, types };
}

function combinedRows(compiler: Compiler, query: Query): string {
  const { operator, queries } = query.combined!;
  return queries
    .map((each) => {
      const scope = compiler.scope(each);
      return `(${compiler.assemble(each, scope, [`${scope.alias}.*`])})`;
    })
    .join(` ${operator} `);
}
