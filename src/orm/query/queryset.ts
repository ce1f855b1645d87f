import type { Queries } from "../../engines/db/database.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { UnsettledError } from "../../http/to-json.js";
import { toResponseSymbol } from "../../http/to-response.js";
import { ValueError } from "../../internal/value-error.js";
import { querysetMark } from "../compile/operands.js";
import { compileSelect } from "../compile/statement-cache.js";
import type { AnyExpression, Ordering, outerPaths, Subquery } from "../expressions/expression.js";
import { orderNode, type rowType } from "../expressions/expression.js";
import { conditionOf } from "../expressions/q.js";
import type { FieldsOf } from "../fields/types.js";
import type { LockNode, Query } from "../nodes.js";
import type { BulkCreateOptions } from "../run/bulk.js";
import * as bulk from "../run/bulk.js";
import { type JsonText, queryJson } from "../run/json.js";
import { load } from "../run/load.js";
import { checkCount, type KeysetPage, type Page } from "../run/paginate.js";
import { create as createInstance } from "../run/persist.js";
import * as races from "../run/races.js";
import * as read from "../run/read.js";
import * as write from "../run/write.js";
import type { CheckedPrefetch, Prefetch, PrefetchPath } from "./builders.js";
import * as build from "./builders.js";
import type {
  CheckedAnnotation,
  CheckedClientOrder,
  CheckedCondition,
  CheckedKey,
  CheckedOrder,
  CheckedWhere,
  OuterOf,
  Unused,
  WithOuter,
} from "./condition-types.js";
import type { AnyName, CheckedSinglePath, ColumnName, ExpressionValue, Name, PathValue, Unless } from "./path-types.js";
import type { CheckedToOne, CreateInput, UpdateInput, WithRelated } from "./row-types.js";

type Annotations = Readonly<Record<string, AnyExpression | AnyName>>;

/**
 * A query for rows of a model. Nothing is sent until the queryset is awaited, iterated, or a method that returns a promise
 * is called. All other methods return a new queryset. `M` is the model, `Row` the type of a result, `A` the annotations.
 */
export class QuerySet<out M, out Row = M, out A = unknown> implements PromiseLike<Row[]>, Subquery<Row, OuterOf<A>> {
  declare readonly [rowType]: Row;
  declare readonly [outerPaths]: OuterOf<A>;
  readonly query: Query;

  constructor(query: Query) {
    this.query = query;
  }

  get [querysetMark](): true {
    return true;
  }

  // Building

  /** Keeps rows for which the condition holds. */
  filter<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition: CheckedCondition<M, A, K, P, X, B>,
  ): QuerySet<M, Row, WithOuter<A, B>> {
    return new QuerySet(build.filter(this.query, conditionOf(condition)));
  }

  /** Removes rows for which the condition holds. Rows for which it is null stay. */
  exclude<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition: CheckedCondition<M, A, K, P, X, B>,
  ): QuerySet<M, Row, WithOuter<A, B>> {
    return new QuerySet(build.filter(this.query, { type: "not", child: conditionOf(condition) }));
  }

  /**
   * Filters by the parameters that a client sent. Keys that are not in `allowed` throw `FieldError`. Strings are converted
   * to the type of the field; a repeated `id__in` is one list.
   */
  filterFrom<const K extends Name>(
    input: Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>,
    allowed: readonly Unless<K, string, CheckedKey<FieldsOf<M>, A, K>>[],
  ): QuerySet<M, Row, A> {
    return new QuerySet(build.filterFrom(this.query, input, allowed as unknown as readonly string[]));
  }

  /** Sets the order of rows: `orderBy("-year", "author__name")`. Without arguments, removes it. */
  orderBy<const K extends readonly (Name | Ordering<string, unknown> | AnyExpression)[]>(
    ...keys: { readonly [I in keyof K]: CheckedOrder<M, A, K[I]> }
  ): QuerySet<M, Row, A> {
    return new QuerySet(
      build.orderBy(this.query, (keys as unknown as Parameters<typeof orderNode>[0][]).map(orderNode)),
    );
  }

  /** Sets the order that a client asked for. Fields that are not in `allowed` throw `FieldError`; `-` is accepted before each. */
  orderFrom<const K extends Name>(
    input: string | readonly string[] | null | undefined,
    allowed: readonly Unless<K, string, CheckedClientOrder<FieldsOf<M>, A, K>>[],
  ): QuerySet<M, Row, A> {
    return new QuerySet(build.orderFrom(this.query, input, allowed as unknown as readonly string[]));
  }

  reverse(): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, reversed: !this.query.reversed });
  }

  limit(count: number): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, limit: checkCount("limit", count) });
  }

  offset(count: number): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, offset: checkCount("offset", count) });
  }

  /** Removes duplicate rows. With fields: keeps the first row of each combination of their values. */
  distinct<const K extends Name>(
    ...fields: readonly Unless<K, string, CheckedSinglePath<FieldsOf<M>, A, K>>[]
  ): QuerySet<M, Row, A> {
    return new QuerySet(build.distinct(this.query, fields as unknown as readonly string[]));
  }

  /** Adds computed values to each row: `annotate({ bookCount: count("books") })`. */
  annotate<const E extends Annotations>(
    annotations: {
      readonly [K in keyof E]: CheckedAnnotation<M, A, E[K], K>;
    },
  ): QuerySet<
    M,
    Row & { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> },
    A & { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> }
  > {
    return new QuerySet(build.annotate(this.query, annotations as never));
  }

  /** Returns plain objects with these fields instead of model instances. Aggregates in a later `annotate()` are grouped by them. */
  values<const K extends Name>(
    ...fields: readonly Unless<K, string, CheckedSinglePath<FieldsOf<M>, A, K>>[]
  ): QuerySet<M, Unless<K, unknown, { [P in K & string]: PathValue<FieldsOf<M>, A, P> }>, A> {
    return new QuerySet(build.values(this.query, fields as unknown as readonly string[], "object"));
  }

  /** Returns arrays with the values of these fields. */
  valuesList<const K extends readonly Name[]>(
    ...fields: { readonly [I in keyof K]: Unless<K[I], string, CheckedSinglePath<FieldsOf<M>, A, K[I]>> }
  ): QuerySet<M, { -readonly [I in keyof K]: Unless<K[I], unknown, PathValue<FieldsOf<M>, A, K[I] & string>> }, A> {
    return new QuerySet(build.values(this.query, fields as unknown as readonly string[], "list"));
  }

  /** Returns the values of one field. */
  flat<const P extends Name>(
    field: Unless<P, string, CheckedSinglePath<FieldsOf<M>, A, P>>,
  ): QuerySet<M, Unless<P, unknown, PathValue<FieldsOf<M>, A, P & string>>, A> {
    return new QuerySet(build.values(this.query, [field] as unknown as readonly string[], "single"));
  }

  /** Loads only these fields and the primary key. */
  only<const K extends ColumnName<M> & string>(...fields: readonly K[]): QuerySet<M, build.Only<M, Row, K>, A> {
    return new QuerySet(build.only(this.query, fields));
  }

  /** Loads all fields except these. */
  defer<const K extends ColumnName<M> & string>(...fields: readonly K[]): QuerySet<M, Omit<Row, K>, A> {
    return new QuerySet(build.defer(this.query, fields));
  }

  /** Loads to-one relations with a join: `selectRelated("author", "author__country")`. */
  selectRelated<const P extends Name>(
    ...paths: readonly Unless<P, string, CheckedToOne<M, P>>[]
  ): QuerySet<M, Unless<P, Row, WithRelated<M, Row, P & string>>, A> {
    return new QuerySet(build.selectRelated(this.query, paths as unknown as readonly string[]));
  }

  /** Loads relations of any kind with one more query for each: `prefetchRelated("books", "books__tags")`. */
  prefetchRelated<const P extends readonly (Name | Prefetch<string>)[]>(
    ...paths: { readonly [I in keyof P]: Unless<P[I], unknown, CheckedPrefetch<M, P[I]>> }
  ): QuerySet<M, Unless<P[number], Row, WithRelated<M, Row, PrefetchPath<P[number]>>>, A> {
    return new QuerySet(build.prefetchRelated(this.query, paths as unknown as readonly string[]));
  }

  /** Locks the rows until the transaction ends. Throws `ProgrammingError` outside of a transaction. */
  forUpdate(
    options: {
      readonly nowait?: boolean;
      readonly skipLocked?: boolean;
      readonly strength?: LockNode["strength"];
    } = {},
  ): QuerySet<M, Row, A> {
    if (options.nowait && options.skipLocked) throw new ValueError("forUpdate takes nowait or skipLocked, not both");
    const wait = options.nowait ? "nowait" : options.skipLocked ? "skip locked" : "wait";
    return new QuerySet({ ...this.query, lock: { strength: build.checkStrength(options.strength ?? "update"), wait } });
  }

  /** Combines the rows of querysets with the same columns, without duplicates. Only `orderBy`, `limit` and `offset` may follow. */
  union(...others: readonly QuerySet<M, Row, A>[]): QuerySet<M, Row, A> {
    return new QuerySet(build.combine("UNION", [this.query, ...others.map((other) => other.query)]));
  }

  unionAll(...others: readonly QuerySet<M, Row, A>[]): QuerySet<M, Row, A> {
    return new QuerySet(build.combine("UNION ALL", [this.query, ...others.map((other) => other.query)]));
  }

  intersection(...others: readonly QuerySet<M, Row, A>[]): QuerySet<M, Row, A> {
    return new QuerySet(build.combine("INTERSECT", [this.query, ...others.map((other) => other.query)]));
  }

  difference(...others: readonly QuerySet<M, Row, A>[]): QuerySet<M, Row, A> {
    return new QuerySet(build.combine("EXCEPT", [this.query, ...others.map((other) => other.query)]));
  }

  /** Returns the same queryset. */
  all(): QuerySet<M, Row, A> {
    return new QuerySet(this.query);
  }

  /** Returns an empty queryset; no statement is sent. */
  none(): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, empty: true });
  }

  /** Includes softly deleted rows. */
  withDeleted(): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, deleted: "shown" });
  }

  onlyDeleted(): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, deleted: "only" });
  }

  /** Reading a relation that was not loaded throws `LazyLoadError` instead of loading it. */
  strict(strict = true): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, strict });
  }

  /** Runs the query on this database or transaction. */
  using(db: Queries): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, db });
  }

  // Reading

  // biome-ignore lint/suspicious/noThenProperty: a queryset is awaited for its rows.
  then<B = Row[], C = never>(
    onFulfilled?: ((rows: Row[]) => B | PromiseLike<B>) | null,
    onRejected?: ((reason: unknown) => C | PromiseLike<C>) | null,
  ): Promise<B | C> {
    return this.toArray().then(onFulfilled, onRejected);
  }

  async toArray(): Promise<Row[]> {
    return (await load(this.query)) as Row[];
  }

  /** Returns the only row that matches. Throws `DoesNotExist` or `MultipleObjectsReturned`. */
  async get<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition?: CheckedCondition<M, A, K, P, X, B>,
  ): Promise<Row> {
    const query = this.#narrowed(condition);
    return read.onlyRow(query, await load(read.atMostTwo(query))) as Row;
  }

  /** Returns the only row that matches, or null. Throws `MultipleObjectsReturned`. */
  async getOrNull<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition?: CheckedCondition<M, A, K, P, X, B>,
  ): Promise<Row | null> {
    const query = this.#narrowed(condition);
    return read.onlyRowOrNull(query, await load(read.atMostTwo(query))) as Row | null;
  }

  /** Returns the first row, or null. Without an order, rows are ordered by primary key. */
  async first(): Promise<Row | null> {
    return (await read.first(this.query)) as Row | null;
  }

  async last(): Promise<Row | null> {
    return (await read.first({ ...this.query, reversed: !this.query.reversed })) as Row | null;
  }

  async count(): Promise<number> {
    return read.count(this.query);
  }

  async exists(): Promise<boolean> {
    return read.exists(this.query);
  }

  /** Computes values over all rows: `aggregate({ total: sum("price"), newest: max("createdAt") })`. */
  async aggregate<const E extends Annotations>(
    aggregates: { readonly [K in keyof E]: CheckedAnnotation<M, A, E[K]> },
  ): Promise<{ -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> }> {
    return (await read.aggregate(this.query, build.aggregates(this.query, aggregates as never))) as never;
  }

  /** Returns a map of rows by the value of a unique field; the primary key by default. */
  async inBulk<const P extends ColumnName<M> & string>(
    keys: readonly unknown[],
    field?: P,
  ): Promise<Map<unknown, Row>> {
    return (await read.inBulk(this.query, keys, field)) as Map<unknown, Row>;
  }

  /** Reads rows through a database cursor, batch by batch, without holding all of them in memory. */
  iterator(options: { readonly batch?: number } = {}): AsyncIterableIterator<Row> {
    return read.iterate(this.query, options.batch) as AsyncIterableIterator<Row>;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Row> {
    return this.iterator();
  }

  /** Returns a page by its number, from 1. */
  async page(page: number, pageSize: number): Promise<Page<Row>> {
    return (await read.page(this.query, page, pageSize)) as Page<Row>;
  }

  /** Returns the page after (or before) the cursor of another page. The order must use fields of the model itself that cannot be null. */
  async keyset(options: {
    readonly size: number;
    readonly after?: string | null | undefined;
    readonly before?: string | null | undefined;
  }): Promise<KeysetPage<Row>> {
    return (await read.keyset(this.query, options)) as KeysetPage<Row>;
  }

  /** Returns the rows as JSON without building instances; a handler can return it. */
  async json(): Promise<JsonText> {
    return queryJson(this.query);
  }

  /** Returns the SQL statement without running it. */
  toSql(): { readonly text: string; readonly params: readonly unknown[] } {
    const { text, params } = compileSelect(this.query);
    return { text, params };
  }

  /** Returns PostgreSQL's query plan. */
  async explain(options: { readonly analyze?: boolean } = {}): Promise<string> {
    return read.explain(this.query, options.analyze === true);
  }

  // Writing

  async create<Any extends AnyName = never>(values: Unless<Any, object, CreateInput<M>>): Promise<M> {
    return (await createInstance(this.query.meta, values as unknown as object, this.query.db)) as M;
  }

  /** Inserts many rows with one statement. With `onConflict: "ignore"`, only new rows are returned. */
  async bulkCreate<Any extends AnyName = never>(
    items: readonly Unless<Any, object, CreateInput<M> | M>[],
    options: Unless<Any, BulkCreateOptions, BulkCreateOptions<ColumnName<M>>> = {},
  ): Promise<M[]> {
    return (await bulk.bulkCreate(
      this.query.meta,
      items as unknown as readonly object[],
      options as BulkCreateOptions,
      this.query.db,
    )) as M[];
  }

  /** Updates fields of many instances with one statement. Returns the number of rows. */
  async bulkUpdate(
    instances: readonly M[],
    fields: readonly (ColumnName<M> & string)[],
    options: { readonly batchSize?: number } = {},
  ): Promise<number> {
    const { meta, db } = this.query;
    return bulk.bulkUpdate(meta, instances as readonly object[], fields, options.batchSize, db);
  }

  /** Returns the row that matches, or creates one from the lookups and `defaults`: `[row, created]`. Safe under concurrency when a unique constraint covers the lookups. */
  async getOrCreate<const K extends Name = never, B = Unused>(
    where: CheckedWhere<M, A, K, B>,
    defaults: Unless<K, object, UpdateInput<M>> = {} as never,
  ): Promise<[row: M, created: boolean]> {
    return (await races.getOrCreate(
      this.#narrowed(where),
      where as unknown as object,
      defaults as unknown as object,
    )) as [M, boolean];
  }

  /** Updates the row that matches with `defaults`, or creates one from the lookups, `defaults` and `create`. */
  async updateOrCreate<const K extends Name = never, B = Unused>(
    where: CheckedWhere<M, A, K, B>,
    defaults: Unless<K, object, UpdateInput<M>>,
    create: Unless<K, object, UpdateInput<M>> = {} as never,
  ): Promise<[row: M, created: boolean]> {
    return (await races.updateOrCreate(
      this.#narrowed(where),
      where as unknown as object,
      defaults as unknown as object,
      create as unknown as object,
    )) as [M, boolean];
  }

  /** Updates all rows with one statement and returns their number. Hooks are not called. Without values, nothing is written. */
  async update<Any extends AnyName = never>(values: Unless<Any, object, UpdateInput<M>>): Promise<number> {
    return write.update(this.query, values as unknown as object);
  }

  /** Updates all rows with one statement and returns them. */
  async updateReturning<Any extends AnyName = never>(values: Unless<Any, object, UpdateInput<M>>): Promise<M[]> {
    return (await write.updateReturning(this.query, values as unknown as object)) as M[];
  }

  /** Deletes all rows with one statement and returns their number; softly if the model has `softDelete()`. Hooks are not called. */
  async delete(): Promise<number> {
    return write.remove(this.query, false);
  }

  /** Removes the rows from the table, also for models with `softDelete()`. */
  async hardDelete(): Promise<number> {
    return write.remove(this.query, true);
  }

  /** Restores softly deleted rows and returns their number. */
  async restore(): Promise<number> {
    return write.restore(this.query);
  }

  /** A queryset has no JSON before it has run. Inside the result of a handler it is run first, at any depth. */
  toJSON(): never {
    throw new UnsettledError("a queryset has no JSON before it is awaited");
  }

  async [toResponseSymbol](_request: Request): Promise<Response> {
    return (await queryJson(this.query))[toResponseSymbol]();
  }

  #narrowed(condition: unknown): Query {
    return condition === undefined ? this.query : build.filter(this.query, conditionOf(condition));
  }
}

/** The type of `Model.objects`. Declare it in a class with members of its own: `declare static objects: Manager<Book>`. */
export type Manager<M> = QuerySet<M>;
