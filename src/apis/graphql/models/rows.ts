import { DataError, ParameterRangeError, ParameterTypeError, ParameterValueError } from "../../../engines/db/errors.js";
import { FieldError } from "../../../orm/errors.js";
import { conditionOf as conditionOfLookups } from "../../../orm/expressions/q.js";
import type { ColumnMeta } from "../../../orm/meta.js";
import { type Query, rootQuery } from "../../../orm/nodes.js";
import { QuerySet } from "../../../orm/query/queryset.js";
import { keyParts } from "../../../orm/run/keys.js";
import { keysetEdges } from "../../../orm/run/keyset.js";
import type { GraphqlContext } from "../context.js";
import { Loader } from "../loader.js";
import type { ExposedModel } from "./exposed-model.js";
import { badInput, columnValue, conditionOf } from "./filters.js";

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

  one(context: GraphqlContext, id: unknown): Promise<object | null> {
    return translated(() => context.load(this.byKey, columnValue(this.#key, id)));
  }

  /** Those of the rows that the client may see. */
  async visibleOf(context: GraphqlContext, rows: readonly object[]): Promise<object[]> {
    if (!this.restricted) return [...rows];
    const key = this.#key.attribute;
    const found = await context.loadMany(
      this.byKey,
      rows.map((row) => (row as Record<string, unknown>)[key]),
    );
    return found.filter((row) => row !== null);
  }

  page(context: GraphqlContext, args: PageArguments, columns: ReadonlyMap<string, ColumnMeta>): Promise<Connection> {
    return translated(() => this.#page(context, args, columns));
  }

  async #page(
    context: GraphqlContext,
    args: PageArguments,
    columns: ReadonlyMap<string, ColumnMeta>,
  ): Promise<Connection> {
    const { maxPage = 100 } = this.#exposed.options;
    if (args.first < 1 || args.first > maxPage) throw badInput(`'first' must be from 1 to ${maxPage}.`);
    if (typeof args.after === "string" && typeof args.before === "string") {
      throw badInput("A page is after a cursor or before one, not both.");
    }
    const query = await this.#visible(context);
    const where = args.filter ? [...query.where, conditionOf(args.filter, columns)] : query.where;
    const filtered = new QuerySet<object>({ ...query, where });
    const set = args.orderBy?.length
      ? filtered.orderBy(...(args.orderBy as never[]))
      : byKeyUnlessOrdered(filtered, this.#key);
    const { first: size, after, before } = args;
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

export interface PageArguments {
  readonly filter?: unknown;
  /** Fields of the model, with `-` for descending. */
  readonly orderBy?: readonly string[] | null;
  readonly first: number;
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
async function translated<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    for (const type of clientErrors) if (error instanceof type) throw badInput(error.message);
    throw error;
  }
}

// No FieldError: fields are those of the schema, so a wrong one is a mistake of the program.
const clientErrors = [ParameterTypeError, ParameterValueError, ParameterRangeError, DataError];
