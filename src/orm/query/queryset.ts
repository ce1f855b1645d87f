import type { Queries } from "../../engines/db/database.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { UnsettledError } from "../../http/to-json.js";
import { toResponseSymbol } from "../../http/to-response.js";
import { ValueError } from "../../internal/value-error.js";
import { querysetMark } from "../compile/operands.js";
import { compileSelect } from "../compile/statement-cache.js";
import type { Expression, Ordering, Subqueryable } from "../expressions/expression.js";
import { orderNode } from "../expressions/expression.js";
import { type Condition, conditionOf } from "../expressions/q.js";
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
import type { Prefetch } from "./builders.js";
import * as build from "./builders.js";
import type {
  CheckedExpression,
  CheckedOrder,
  CheckedPath,
  ExpressionValue,
  OwnNames,
  PathValue,
} from "./path-types.js";
import type { ColumnName, CreateInput, RelationPath, ToOnePath, UpdateInput, WithRelated } from "./row-types.js";
import type { CheckedCondition } from "./where-types.js";

type Hint<T extends string> = T | (string & Record<never, never>);
type Annotations = Readonly<Record<string, Expression<unknown, string>>>;
type Annotated<M, A, E> = { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> };

declare const rowType: unique symbol;

/**
 * A query for rows of a model. Nothing is sent until the queryset is awaited, iterated, or a method that returns a promise
 * is called. All other methods return a new queryset. `M` is the model, `Row` the type of a result, `A` the annotations.
 */
export class QuerySet<M, Row = M, A = unknown> implements PromiseLike<Row[]>, Subqueryable {
  declare readonly [rowType]: Row;
  readonly query: Query;

  constructor(query: Query) {
    this.query = query;
  }

  get [querysetMark](): true {
    return true;
  }

  // Building

  /** Keeps rows for which the condition holds. */
  filter<const C extends Condition>(condition: C & CheckedCondition<M, A, C>): QuerySet<M, Row, A> {
    return new QuerySet(build.filter(this.query, conditionOf(condition)));
  }

  /** Removes rows for which the condition holds. Rows for which it is null stay. */
  exclude<const C extends Condition>(condition: C & CheckedCondition<M, A, C>): QuerySet<M, Row, A> {
    return new QuerySet(build.filter(this.query, { type: "not", child: conditionOf(condition) }));
  }

  /**
   * Filters by the parameters that a client sent. Keys that are not in `allowed` throw `FieldError`. Strings are converted
   * to the type of the field; a repeated `id__in` is one list.
   */
  filterFrom(
    input: Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>,
    allowed: readonly string[],
  ): QuerySet<M, Row, A> {
    return new QuerySet(build.filterFrom(this.query, input, allowed));
  }

  /** Sets the order of rows: `orderBy("-year", "author__name")`. Without arguments, removes it. */
  orderBy<
    const K extends readonly (Hint<OwnNames<M> | `-${OwnNames<M>}`> | Ordering<string> | Expression<unknown, string>)[],
  >(...keys: { readonly [I in keyof K]: K[I] & CheckedOrder<FieldsOf<M>, A, K[I]> }): QuerySet<M, Row, A> {
    return new QuerySet(
      build.orderBy(this.query, (keys as unknown as Parameters<typeof orderNode>[0][]).map(orderNode)),
    );
  }

  /** Sets the order that a client asked for. Fields that are not in `allowed` throw `FieldError`; `-` is accepted before each. */
  orderFrom(input: string | readonly string[] | null | undefined, allowed: readonly string[]): QuerySet<M, Row, A> {
    return new QuerySet(build.orderFrom(this.query, input, allowed));
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
  distinct<const K extends readonly Hint<OwnNames<M>>[]>(
    ...fields: { readonly [I in keyof K]: K[I] & CheckedPath<FieldsOf<M>, A, K[I]> }
  ): QuerySet<M, Row, A> {
    const names = fields as unknown as readonly string[];
    return new QuerySet(build.distinct(this.query, names));
  }

  /** Adds computed values to each row: `annotate({ bookCount: count("books") })`. */
  annotate<const E extends Annotations>(
    annotations: E & { readonly [K in keyof E]: CheckedExpression<FieldsOf<M>, A, E[K]> },
  ): QuerySet<M, Row & Annotated<M, A, E>, A & Annotated<M, A, E>> {
    return new QuerySet(build.annotate(this.query, annotations));
  }

  /** Returns plain objects with these fields instead of model instances. Aggregates in a later `annotate()` are grouped by them. */
  values<const K extends readonly Hint<OwnNames<M>>[]>(
    ...fields: { readonly [I in keyof K]: K[I] & CheckedPath<FieldsOf<M>, A, K[I]> }
  ): QuerySet<M, { -readonly [P in K[number]]: PathValue<FieldsOf<M>, A, P> }, A> {
    return new QuerySet(build.values(this.query, fields as unknown as readonly string[], "object"));
  }

  /** Returns arrays with the values of these fields. */
  valuesList<const K extends readonly Hint<OwnNames<M>>[]>(
    ...fields: { readonly [I in keyof K]: K[I] & CheckedPath<FieldsOf<M>, A, K[I]> }
  ): QuerySet<M, { -readonly [I in keyof K]: PathValue<FieldsOf<M>, A, K[I] & string> }, A> {
    return new QuerySet(build.values(this.query, fields as unknown as readonly string[], "list"));
  }

  /** Returns the values of one field. */
  flat<const P extends Hint<OwnNames<M>>>(
    field: P & CheckedPath<FieldsOf<M>, A, P>,
  ): QuerySet<M, PathValue<FieldsOf<M>, A, P>, A> {
    return new QuerySet(build.values(this.query, [field], "single"));
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
  selectRelated<const P extends string>(
    ...paths: readonly (P & ToOnePath<FieldsOf<M>, P>)[]
  ): QuerySet<M, WithRelated<FieldsOf<M>, Row, P>, A> {
    return new QuerySet(build.selectRelated(this.query, paths));
  }

  /** Loads relations of any kind with one more query for each: `prefetchRelated("books", "books__tags")`. */
  prefetchRelated<const P extends string>(
    ...paths: readonly ((P & RelationPath<FieldsOf<M>, P>) | Prefetch<P>)[]
  ): QuerySet<M, WithRelated<FieldsOf<M>, Row, P>, A> {
    return new QuerySet(build.prefetchRelated(this.query, paths));
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
  async get<const C extends Condition = Record<never, never>>(condition?: C & CheckedCondition<M, A, C>): Promise<Row> {
    const query = this.#narrowed(condition);
    return read.onlyRow(query, await load(read.atMostTwo(query))) as Row;
  }

  /** Returns the only row that matches, or null. Throws `MultipleObjectsReturned`. */
  async getOrNull<const C extends Condition = Record<never, never>>(
    condition?: C & CheckedCondition<M, A, C>,
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
    aggregates: E & { readonly [K in keyof E]: CheckedExpression<FieldsOf<M>, A, E[K]> },
  ): Promise<Annotated<M, A, E>> {
    return (await read.aggregate(this.query, build.aggregates(this.query, aggregates))) as Annotated<M, A, E>;
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

  async create(values: CreateInput<M>): Promise<M> {
    return (await createInstance(this.query.meta, values as object, this.query.db)) as M;
  }

  /** Inserts many rows with one statement. With `onConflict: "ignore"`, only new rows are returned. */
  async bulkCreate(items: readonly (CreateInput<M> | M)[], options: BulkCreateOptions = {}): Promise<M[]> {
    return (await bulk.bulkCreate(this.query.meta, items as readonly object[], options, this.query.db)) as M[];
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
  async getOrCreate<const C extends Readonly<Record<string, unknown>>>(
    where: C & CheckedCondition<M, A, C>,
    defaults: UpdateInput<M> = {} as UpdateInput<M>,
  ): Promise<[row: M, created: boolean]> {
    return (await races.getOrCreate(this.#narrowed(where), where, defaults)) as [M, boolean];
  }

  /** Updates the row that matches with `defaults`, or creates one from the lookups, `defaults` and `create`. */
  async updateOrCreate<const C extends Readonly<Record<string, unknown>>>(
    where: C & CheckedCondition<M, A, C>,
    defaults: UpdateInput<M>,
    create: UpdateInput<M> = {} as UpdateInput<M>,
  ): Promise<[row: M, created: boolean]> {
    return (await races.updateOrCreate(this.#narrowed(where), where, defaults, create)) as [M, boolean];
  }

  /** Updates all rows with one statement and returns their number. Hooks are not called. Without values, nothing is written. */
  async update(values: UpdateInput<M>): Promise<number> {
    return write.update(this.query, values);
  }

  /** Updates all rows with one statement and returns them. */
  async updateReturning(values: UpdateInput<M>): Promise<M[]> {
    return (await write.updateReturning(this.query, values)) as M[];
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
