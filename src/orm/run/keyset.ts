import { DataError, ParameterValueError } from "../../engines/db/errors.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { Compiler } from "../compile/compiler.js";
import { FieldError } from "../errors.js";
import type { ColumnMeta } from "../meta.js";
import type { ConditionNode, Query } from "../nodes.js";
import { type KeyPart, keyParts, readCursor, rowsBeyond, turned, writeCursor } from "./keys.js";
import { load, rowsOf } from "./load.js";
import { checkCount, type KeysetPage } from "./paginate.js";
import { send } from "./send.js";
import type { Values } from "./state.js";

export const keysetOptions = options("keyset()", {
  /** The number of rows. */
  size: option.required(is.integer(1)),
  /** `next` of another page: the rows after it. */
  after: option(is.string),
  /** `previous` of another page: the rows before it. */
  before: option(is.string),
});

export interface KeysetOptions extends OrNull<OptionsOf<typeof keysetOptions.fields>> {
  readonly size: number;
}

/** Null counts as not given: `next` of the last page is null. */
type OrNull<O> = { readonly [K in keyof O]: O[K] | null };

/** A page of rows after a cursor, or before it. */
export async function keyset(query: Query, options: KeysetOptions): Promise<KeysetPage<unknown>> {
  const { edges, hasNext, hasPrevious } = await keysetEdges(query, options);
  return {
    items: edges.map(({ item }) => item),
    next: hasNext ? (edges.at(-1)?.cursor ?? null) : null,
    previous: hasPrevious ? (edges[0]?.cursor ?? null) : null,
  };
}

export interface KeysetEdges {
  readonly edges: readonly { readonly item: unknown; readonly cursor: string }[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}

/** A page of rows, each with its cursor: the key of the row in the order of the query. */
export async function keysetEdges(query: Query, options: KeysetOptions): Promise<KeysetEdges> {
  const size = checkCount("size", options.size);
  if (size < 1) throw new FieldError("a page has at least one row");
  const after = options.after ?? undefined;
  const before = options.before ?? undefined;
  if (after !== undefined && before !== undefined)
    throw new FieldError("a page is after a cursor or before one, not both");
  if (query.limit !== null || query.offset !== null) throw new FieldError("a limited queryset has no pages");
  const backward = before !== undefined;
  const parts = keyParts(query);
  // One extra row shows if there is another page.
  const found = await rowsAt(query, parts, after ?? before, backward, size + 1);
  const more = found.length > size;
  const rows = more ? found.slice(0, size) : found;
  if (backward) rows.reverse();
  return {
    edges: rows.map(({ item, key }) => ({ item, cursor: writeCursor(key) })),
    hasNext: rows.length > 0 && (backward || more),
    hasPrevious: rows.length > 0 && (backward ? more : after !== undefined),
  };
}

interface Keyed {
  readonly item: unknown;
  readonly key: readonly unknown[];
}

async function rowsAt(
  query: Query,
  parts: readonly KeyPart[],
  cursor: string | undefined,
  backward: boolean,
  limit: number,
): Promise<Keyed[]> {
  const directed = backward ? parts.map(turned) : parts;
  const columns = plainColumns(query, parts);
  const values = cursor === undefined ? undefined : readCursor(parts, cursor, columns !== undefined);
  const paged: Query = { ...query, orderBy: directed.map(({ order }) => order), reversed: false, limit };
  if (columns !== undefined) {
    const where = values === undefined ? query.where : [...query.where, beyondColumns(directed, columns, values)];
    const rows = (await load({ ...paged, where }).catch(cursor === undefined ? rethrow : refuseCursor)) as Values[];
    return rows.map((row) => ({ item: row, key: columns.map((column) => plainValue(row[column.attribute])) }));
  }
  const where =
    values === undefined ? query.where : [...query.where, rowsBeyond(directed, values as readonly (string | null)[])];
  return keyedRows({ ...paged, where }, parts, cursor !== undefined);
}

/** Reads rows together with the texts of their keys: texts lose nothing, such as microseconds. */
async function keyedRows(query: Query, parts: readonly KeyPart[], fromClient: boolean): Promise<Keyed[]> {
  if (query.empty) return [];
  const keys = parts.map(({ order }) => order.expression);
  const { text, params, plan } = new Compiler().select(query, { keys });
  const { rows } = await send(query, (connection) => connection.fetchArrays(text, params)).catch(
    fromClient ? refuseCursor : rethrow,
  );
  const texts = rows.map((row) => row.slice(-keys.length));
  const items = await rowsOf(query, rows, plan);
  return items.map((item, index) => ({ item, key: texts[index]! }));
}

/** The SQLSTATEs of a text that is no value of the type it is cast to. */
const noValue = new Set(["22P02", "22007", "22008", "22003", "22P03", "22P05", "22015", "22021", "22023"]);

function refuseCursor(error: unknown): never {
  if (error instanceof DataError && noValue.has(error.sqlstate ?? ""))
    throw new ParameterValueError("the cursor is not one of this list", { cause: error });
  throw error;
}

function rethrow(error: unknown): never {
  throw error;
}

/** The type of times that a Date holds exactly. */
const milliseconds = "timestamp(3) with time zone";
const plainKinds = new Set(["smallInt", "int", "bigInt", "decimal", "bool", "char", "text", "uuid", "date", "enum"]);

/**
 * The columns of an order by loaded columns of the model itself that cannot be null and whose values in JavaScript lose
 * nothing. Their statements are cached.
 */
function plainColumns(query: Query, parts: readonly KeyPart[]): ColumnMeta[] | undefined {
  if (query.selection !== null) return undefined;
  const columns: ColumnMeta[] = [];
  for (const { column, nullable } of parts) {
    if (column === undefined || nullable || !(query.columns?.has(column.index) ?? true)) return undefined;
    if (!plainKinds.has(column.type.kind) && column.type.sqlType !== milliseconds) return undefined;
    columns.push(column);
  }
  return columns;
}

function plainValue(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : typeof value === "bigint" ? value.toString() : value;
}

function beyondColumns(
  parts: readonly KeyPart[],
  columns: readonly ColumnMeta[],
  values: readonly unknown[],
): ConditionNode {
  const children = parts.map(({ order }, i): ConditionNode => {
    const equal = columns
      .slice(0, i)
      .map((column, j): ConditionNode => ({ type: "lookup", key: column.attribute, value: values[j] }));
    const key = `${columns[i]!.attribute}__${order.descending ? "lt" : "gt"}`;
    return { type: "and", children: [...equal, { type: "lookup", key, value: values[i] }] };
  });
  return { type: "or", children };
}
