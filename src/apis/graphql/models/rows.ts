import type { GraphQLResolveInfo } from "graphql";
import { DataError, ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../../engines/db/errors.js";
import { FieldError } from "../../../orm/errors.js";
import { conditionOf as conditionOfLookups } from "../../../orm/expressions/q.js";
import type { ColumnMeta, RelationMeta } from "../../../orm/meta.js";
import { type Query, rootQuery } from "../../../orm/nodes.js";
import { QuerySet } from "../../../orm/query/queryset.js";
import { keyParts } from "../../../orm/run/keys.js";
import { keysetEdges } from "../../../orm/run/keyset.js";
import { relatedRows } from "../../../orm/run/load.js";
import type { GraphqlContext } from "../context.js";
import { Loader } from "../loader.js";
import type { ExposedModel } from "./exposed-model.js";
import { badInput, columnValue, conditionOf } from "./filters.js";

/** Columns in one order. */
const maxOrders = 8;

type RelatedLoader = Loader<object, readonly object[], GraphqlContext>;

const loaders = new WeakMap<GraphqlContext, Map<unknown, Map<unknown, RelatedLoader>>>();

/** One loader for each field of an execution: its arguments are the same for all rows. */
function loaderOf(
  context: GraphqlContext,
  { fieldNodes, variableValues }: GraphQLResolveInfo,
  load: (rows: readonly object[]) => Promise<readonly object[][]>,
): RelatedLoader {
  let known = loaders.get(context);
  if (known === undefined) loaders.set(context, (known = new Map()));
  let fields = known.get(variableValues);
  if (fields === undefined) known.set(variableValues, (fields = new Map()));
  let loader = fields.get(fieldNodes[0]);
  if (loader === undefined) fields.set(fieldNodes[0], (loader = new Loader(load)));
  return loader;
}

/** The rows of an exposed model that a client may see. */
export class Rows {
  readonly #exposed: ExposedModel;
  /** Rows by primary key, for all resolvers of an operation at once. */
  readonly byKey: Loader<unknown, object, GraphqlContext>;

  constructor(exposed: ExposedModel) {
    this.#exposed = exposed;
    this.byKey = new Loader(async (keys, context) => {
      const key = this.#key;
      const query = await this.#visible(context);
      const among = { type: "lookup", key: `${key.attribute}__in`, value: keys } as const;
      const rows = await new QuerySet<object>({ ...query, where: [...query.where, among] });
      return new Map(rows.map((row) => [(row as Record<string, unknown>)[key.attribute], row]));
    });
  }

  get restricted(): boolean {
    return this.#exposed.options.visible !== undefined;
  }

  get #key(): ColumnMeta {
    return this.#exposed.model.meta.primaryKey[0]!;
  }

  /** The query for all rows that the client may see, on the connection of the request. */
  async #visible(context: GraphqlContext): Promise<Query> {
    const { model, options } = this.#exposed;
    const query = { ...rootQuery(model.meta), db: context.db };
    return options.visible ? { ...query, where: [conditionOfLookups(await options.visible(context))] } : query;
  }

  /** The query for one row, if the client may see it. */
  async keyed(context: GraphqlContext, id: unknown): Promise<Query> {
    const query = await this.#visible(context);
    const lookup = { type: "lookup", key: this.#key.attribute, value: columnValue(this.#key, id) } as const;
    return { ...query, where: [...query.where, lookup] };
  }

  one(context: GraphqlContext, id: unknown): Promise<object | null> {
    return translated(() => context.load(this.byKey, columnValue(this.#key, id)));
  }

  /**
   * The related rows of a row that the client may see, together with those of all other rows that a field of an operation
   * is executed on.
   */
  related(
    relation: RelationMeta,
    row: object,
    args: ListArguments | null,
    columns: ReadonlyMap<string, ColumnMeta>,
    context: GraphqlContext,
    info: GraphQLResolveInfo,
  ): Promise<readonly object[] | null> {
    const loader = loaderOf(context, info, async (rows) => {
      const visible = { ...(await this.#visible(context)), via: relation };
      return relatedRows(rows, relation, args === null ? visible : this.#limited(visible, args, columns));
    });
    return translated(() => context.load(loader, row));
  }

  #limited(visible: Query, args: ListArguments, columns: ReadonlyMap<string, ColumnMeta>): Query {
    return { ...this.#ordered(this.#filtered(visible, args, columns), args).query, limit: this.#sizeOf(args) };
  }

  #filtered(visible: Query, { filter }: ListArguments, columns: ReadonlyMap<string, ColumnMeta>): QuerySet<object> {
    return new QuerySet({
      ...visible,
      where: filter ? [...visible.where, conditionOf(filter, columns)] : visible.where,
    });
  }

  #ordered(set: QuerySet<object>, { orderBy }: ListArguments): QuerySet<object> {
    if (!orderBy?.length) return byKeyUnlessOrdered(set, this.#key);
    const columns = new Set(orderBy.map((name) => name.replace("-", "")));
    if (columns.size < orderBy.length) throw badInput("'orderBy' names a column twice.");
    // The condition of a page grows with the square of their number.
    if (columns.size > maxOrders) throw badInput(`'orderBy' names at most ${maxOrders} columns.`);
    return set.orderBy(...(orderBy as never[]));
  }

  #sizeOf({ first }: ListArguments): number {
    const { maxPage = 100 } = this.#exposed.options;
    if (first < 1 || first > maxPage) throw badInput(`'first' must be from 1 to ${maxPage}.`);
    return first;
  }

  page(context: GraphqlContext, args: PageArguments, columns: ReadonlyMap<string, ColumnMeta>): Promise<Connection> {
    return translated(() => this.#page(context, args, columns));
  }

  async #page(
    context: GraphqlContext,
    args: PageArguments,
    columns: ReadonlyMap<string, ColumnMeta>,
  ): Promise<Connection> {
    const size = this.#sizeOf(args);
    if (typeof args.after === "string" && typeof args.before === "string") {
      throw badInput("A page is after a cursor or before one, not both.");
    }
    const filtered = this.#filtered(await this.#visible(context), args, columns);
    const { after, before } = args;
    const set = this.#ordered(filtered, args);
    const page = await keysetEdges(set.query, { size, after, before });
    const edges = page.edges.map(({ item, cursor }) => ({ node: item as object, cursor }));
    return {
      edges,
      nodes: edges.map(({ node }) => node),
      pageInfo: {
        hasNextPage: page.hasNext,
        hasPreviousPage: page.hasPrevious,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges.at(-1)?.cursor ?? null,
      },
      totalCount: () => translated(() => filtered.count()),
    };
  }
}

/** The arguments of a list of rows. */
export interface ListArguments {
  readonly filter?: unknown;
  /** Fields of the model, with `-` for descending. */
  readonly orderBy?: readonly string[] | null;
  readonly first: number;
}

export interface PageArguments extends ListArguments {
  readonly after?: string | null;
  readonly before?: string | null;
}

interface Connection {
  readonly edges: readonly { readonly node: object; readonly cursor: string }[];
  readonly nodes: readonly object[];
  readonly pageInfo: object;
  readonly totalCount: () => Promise<number>;
}

/** A default order that cannot be a key of pages gives way to the primary key. */
function byKeyUnlessOrdered(set: QuerySet<object>, key: ColumnMeta): QuerySet<object> {
  try {
    keyParts(set.query);
    return set;
  } catch (error) {
    if (error instanceof FieldError) return set.orderBy(key.attribute as never);
    throw error;
  }
}

/** Values that do not fit their columns are mistakes of the client. */
export async function translated<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    for (const type of clientErrors) if (error instanceof type) throw badInput(error.message);
    throw error;
  }
}

// No FieldError: fields are those of the schema, so a wrong one is a mistake of the program.
const clientErrors = [ParameterTypeError, ParameterValueError, ParameterRangeError, DataError];
