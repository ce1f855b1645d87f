import { isAggregate } from "../compile/aggregation.js";
import type { CombinedPart } from "../compile/combined.js";
import { Compiler } from "../compile/compiler.js";
import type { Scope } from "../compile/scope.js";
import { usesWindow } from "../compile/windows.js";
import { quote } from "../identifiers.js";
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

/**
 * True if the rows must be computed before they are aggregated: for limits, distinct rows, unions, groups, and for
 * aggregates and windows of each row.
 */
function needsRows(query: Query): boolean {
  const { annotations, sources } = query;
  if (!isSimple(query) || sources.length > 0) return true;
  return Object.values(annotations).some((node) => isAggregate(node, annotations) || usesWindow(node, annotations));
}

/** The aggregates over a subquery. */
function overRows(compiler: Compiler, query: Query, entries: Entries): Statement {
  const { text, derived, onlyValues } = query.combined ? combinedRows(compiler, query) : plainRows(compiler, query);
  const scope = compiler.scope({ ...query, annotations: derived, selection: null, sources: [], combined: null });
  scope.grouped = true;
  scope.derivedOnly = onlyValues;
  const { list, types } = compiledEntries(compiler, entries, scope);
  return { text: `SELECT ${list.join(", ")} FROM (${text}) ${scope.alias}${scope.joins}`, types };
}

/** A subquery whose rows are aggregated. Its columns are those of the table and the annotations; or only values. */
interface InnerRows extends CombinedPart {
  readonly derived: Readonly<Record<string, ExpressionNode>>;
  readonly onlyValues: boolean;
}

function combinedRows(compiler: Compiler, query: Query): InnerRows {
  let first: InnerRows | undefined;
  const { text } = compiler.combined(query, (part) => {
    const rows = plainRows(compiler, part, part.selection !== null);
    first ??= rows;
    return rows;
  });
  return { ...first!, text };
}

function plainRows(compiler: Compiler, query: Query, onlyValues: boolean = isOnlyValues(query)): InnerRows {
  const scope = compiler.scope(query);
  const computed = onlyValues
    ? query.selection!.fields.map(({ name, expression }) => [name, expression] as const)
    : Object.entries(query.annotations);
  const columns = onlyValues ? [] : query.meta.columns;
  const list = [
    ...columns.map((column) => scope.column(column)),
    ...computed.map(([, node]) => compiler.expression(node, scope)),
  ];
  const names = [...columns.map((column) => quote(column.column)), ...computed.map((_, index) => `stoa_${index}`)];
  const positions = new Map([
    ...columns.flatMap(({ name, attribute }, at) => [[name, at] as const, [attribute, at] as const]),
    ...computed.map(([name], index) => [name, columns.length + index] as const),
  ]);
  const derived = Object.fromEntries(
    computed.map(([name, node], index): [string, ExpressionNode] => [
      name,
      { type: "derived", column: `stoa_${index}`, of: compiler.typeOf(node, scope) },
    ]),
  );
  const text = compiler.assemble(query, scope, list.length === 0 ? ["1"] : list, {
    names: list.length === 0 ? ["one"] : names,
  });
  return { text, positions, derived, onlyValues };
}

function overTable(compiler: Compiler, given: Query, entries: Entries): Statement {
  const query: Query = { ...given, selection: null };
  const scope = compiler.scope(query);
  scope.grouped = true;
  const { list, types } = compiledEntries(compiler, entries, scope);
  return { text: compiler.assemble(query, scope, list), types };
}

/** True if rows are not those of the table, one for one: only their values can be aggregated. */
function isOnlyValues({ selection, distinct }: Query): boolean {
  return selection !== null && (selection.grouped || selection.many.length > 0 || distinct === true);
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
