import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { isLimited, onChosenRows } from "../compile/chosen-rows.js";
import { Compiler } from "../compile/compiler.js";
import type { RowPlan } from "../compile/row-plan.js";
import { noField, singleKey } from "../compile/scope.js";
import { splitByWindows } from "../compile/windows.js";
import { connectionFor, strictByDefault } from "../database.js";
import { FieldError, MultipleObjectsReturned } from "../errors.js";
import type { ModelMeta } from "../meta.js";
import type { Query } from "../nodes.js";
import { hydrate } from "./hydrate.js";
import { load, loadRelations, valuesReader } from "./load.js";
import { missing } from "./missing.js";
import { checkCount, type Page } from "./paginate.js";
import { lockable, send } from "./send.js";
import type { Values } from "./state.js";

/** Limits a query to two rows, which is enough to find a second one. A query for one primary key needs no limit. */
export function atMostTwo(query: Query): Query {
  return query.limit !== null || namesKey(query) ? query : { ...query, limit: 2 };
}

function namesKey({ meta, where, combined }: Query): boolean {
  const [key, more] = meta.primaryKey;
  if (key === undefined || more !== undefined || combined !== null) return false;
  return where.some((condition) => condition.type === "lookup" && condition.key === key.attribute);
}

export function onlyRow(query: Query, rows: readonly unknown[]): unknown {
  const row = onlyRowOrNull(query, rows);
  if (row === null) throw missing(query.meta, "matching the query does not exist");
  return row;
}

export function onlyRowOrNull(query: Query, rows: readonly unknown[]): unknown {
  if (rows.length > 1) throw several(query.meta);
  return rows[0] ?? null;
}

function several(meta: ModelMeta): Error {
  const own = (meta.model as unknown as { MultipleObjectsReturned?: typeof MultipleObjectsReturned })
    .MultipleObjectsReturned;
  return new (own ?? MultipleObjectsReturned)(`more than one ${meta.name} matches the query`);
}

export async function first(query: Query): Promise<unknown> {
  const ordered = (query.orderBy ?? query.meta.ordering).length > 0 || query.selection?.grouped || query.combined;
  // Distinct values have no key: the order is that of the values.
  const paths =
    query.selection && query.distinct === true
      ? query.selection.fields.map(({ name }) => name)
      : query.meta.primaryKey.map((column) => column.attribute);
  const byKey = paths.map((path) => ({ expression: { type: "path", path } as const, descending: false }));
  const [row] = await load({
    ...(ordered ? query : { ...onChosenRows(query, "first()"), orderBy: byKey }),
    limit: Math.min(query.limit ?? 1, 1),
  });
  return row ?? null;
}

export async function last(query: Query): Promise<unknown> {
  // In the inverted order, a limit would choose other rows.
  if (isLimited(query)) throw new FieldError("a limited queryset has no last(): use reverse() and first()");
  const rows = onChosenRows(query, "last()");
  return first({ ...rows, reversed: !rows.reversed });
}

export async function count(query: Query): Promise<number> {
  if (query.empty) return 0;
  const compiler = new Compiler();
  const bare = bareRows(query);
  const text = isSimple(bare) ? simpleCount(compiler, bare) : `SELECT count(*) FROM (${inner(compiler, bare)}) c`;
  return Number(await send(bare, (connection) => connection.fetchval(text, compiler.params)));
}

/** True if the query has as many rows as the table has matching rows. */
export function isSimple(query: Query): boolean {
  return (
    query.limit === null &&
    query.offset === null &&
    query.distinct === false &&
    query.combined === null &&
    !query.selection?.grouped &&
    !query.selection?.many.length &&
    splitByWindows(query).windows.length === 0
  );
}

function simpleCount(compiler: Compiler, query: Query): string {
  return compiler.assemble({ ...query, selection: null }, compiler.scope(query), ["count(*)"]);
}

function inner(compiler: Compiler, query: Query): string {
  if (query.combined || query.selection || query.distinct !== false)
    return compiler.select(query, { named: true }).text;
  return compiler.assemble(query, compiler.scope(query), ["1"]);
}

/** The query without relations and locks. The order is kept only if a limit, an offset or DISTINCT ON removes rows. */
export function bareRows(query: Query): Query {
  const bare: Query = { ...query, related: {}, prefetch: [], lock: null };
  const keepsOrder = query.limit !== null || query.offset !== null || Array.isArray(query.distinct);
  return keepsOrder ? bare : { ...bare, orderBy: [], reversed: false };
}

export async function exists(query: Query): Promise<boolean> {
  if (query.empty) return false;
  const compiler = new Compiler();
  const bare = bareRows(query);
  const text = `SELECT EXISTS (${inner(compiler, bare)})`;
  return (await send(bare, (connection) => connection.fetchval(text, compiler.params))) === true;
}

export async function inBulk(
  query: Query,
  keys: readonly unknown[],
  field: string | undefined,
): Promise<Map<unknown, unknown>> {
  if (query.combined || isLimited(query) || query.distinct !== false)
    throw new FieldError("inBulk() cannot follow a union, distinct(), a limit or an offset");
  const column = field === undefined ? singleKey(query.meta) : query.meta.column(field);
  if (column === undefined) throw noField(query.meta, String(field));
  if (!column.unique && !(column.primaryKey && query.meta.primaryKey.length === 1))
    throw new FieldError(`${query.meta.name}.${column.name} is not unique`);
  const rows = await load({
    ...query,
    where: [...query.where, { type: "lookup", key: `${column.attribute}__in`, value: keys }],
  });
  return new Map(rows.map((row) => [(row as Values)[column.attribute], row]));
}

export const iteratorOptions = options("iterator()", {
  /** Rows fetched at a time. Default 200. */
  batch: option(is.integer(1, 1_000_000), 200),
});

export interface IteratorOptions extends OptionsOf<typeof iteratorOptions.fields> {}

export const explainOptions = options("explain()", {
  /** True runs the statement, and adds what it took. Default false. */
  analyze: option(is.boolean, false),
});

export interface ExplainOptions extends OptionsOf<typeof explainOptions.fields> {}

/**
 * Reads through a cursor; relations are prefetched batch by batch. The embedded database has one connection, and an
 * open cursor would block all other queries in the loop. Outside of a transaction it therefore reads all rows first;
 * they are in this process anyway.
 */
export async function* iterate(query: Query, size: number): AsyncGenerator<unknown, void, undefined> {
  if (query.empty) return;
  const connection = lockable(query, connectionFor(query.db));
  if (connection.engine === "pglite" && connection.kind !== "transaction") {
    yield* await load(query);
    return;
  }
  const { text, params, plan } = new Compiler().select(query, { named: true });
  const cursor = connection.cursor<Values>(text, params, { batch: size });
  try {
    for (;;) {
      const read = await send(query, () => cursor.read(size));
      const rows = read.map((row) => Object.values(row));
      if (rows.length === 0) return;
      if (query.selection) yield* rows.map(valuesReader(query.selection.shape, plan.extras));
      else yield* await batchOf(query, rows, plan);
    }
  } finally {
    await cursor.close();
  }
}

/** Siblings are the rows of one batch, not all rows that were read. */
async function batchOf(query: Query, rows: unknown[][], plan: RowPlan): Promise<object[]> {
  const instances = hydrate(rows, plan, { db: query.db, strict: query.strict || strictByDefault() });
  if (query.prefetch.length > 0) await loadRelations(instances, query, query.prefetch);
  return instances;
}

export async function page(query: Query, number: number, pageSize: number): Promise<Page<unknown>> {
  if (checkCount("page", number) < 1) throw new FieldError("pages are numbered from 1");
  if (checkCount("pageSize", pageSize) < 1) throw new FieldError("a page has at least one row");
  if (isLimited(query)) throw new FieldError("a limited queryset has no pages");
  const [total, items] = await Promise.all([
    count(query),
    load({ ...query, limit: pageSize, offset: (number - 1) * pageSize }),
  ]);
  const pages = Math.ceil(total / pageSize);
  return { items, page: number, pageSize, total, pages, hasNext: number < pages, hasPrevious: number > 1 && total > 0 };
}

export async function explain(query: Query, analyze: boolean): Promise<string> {
  const { text, params } = new Compiler().select(query);
  const { rows } = await connectionFor(query.db).fetchArrays(`EXPLAIN ${analyze ? "ANALYZE " : ""}${text}`, params);
  return rows.map(([line]) => String(line)).join("\n");
}
