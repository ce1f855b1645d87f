import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { toResponseSymbol } from "../../http/to-response.js";
import { ValueError } from "../../kit/value-error.js";
import { querysetMark } from "../compile/operands.js";
import { compileSelect } from "../compile/statement-cache.js";
import type { AnyExpression, outerPaths, rowType, Subquery } from "../expressions/expression.js";
import { conditionOf } from "../expressions/q.js";
import type { FieldsOf } from "../fields/types.js";
import { orNotFound } from "../http-errors.js";
import type { Query } from "../nodes.js";
import { aggregate } from "../run/aggregate.js";
import { type JsonText, queryJson } from "../run/json.js";
import { type KeysetOptions, keyset, keysetOptions } from "../run/keyset.js";
import { load } from "../run/load.js";
import type { KeysetPage, Page } from "../run/paginate.js";
import * as read from "../run/read.js";
import * as build from "./builders.js";
import type { CheckedAnnotation, CheckedCondition, OuterOf, Unused } from "./condition-types.js";
import {
  type ClientParameters,
  type KeysetPageOptions,
  keysetPage,
  numberedPage,
  type PageOptions,
  pageFields,
  refuseCursor,
} from "./page-input.js";
import type { AnyName, ColumnName, ExpressionValue, Name } from "./path-types.js";

export type Annotations = Readonly<Record<string, AnyExpression | AnyName>>;

/** The methods of a queryset that read rows. */
export class ReadableRows<out M, out Row = M, out A = unknown>
  implements PromiseLike<Row[]>, Subquery<Row, OuterOf<A>>
{
  declare readonly [rowType]: Row;
  declare readonly [outerPaths]: OuterOf<A>;

  constructor(readonly query: Query) {}

  get [querysetMark](): true {
    return true;
  }

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
    const query = this.narrowed(condition);
    return read.onlyRow(query, await load(read.atMostTwo(query))) as Row;
  }

  /** Returns the only row that matches, or null. Throws `MultipleObjectsReturned`. */
  async getOrNull<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition?: CheckedCondition<M, A, K, P, X, B>,
  ): Promise<Row | null> {
    const query = this.narrowed(condition);
    return read.onlyRowOrNull(query, await load(read.atMostTwo(query))) as Row | null;
  }

  /** Returns the only row that matches, or throws an error that becomes a response with status 404. */
  async getOr404<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition?: CheckedCondition<M, A, K, P, X, B>,
  ): Promise<Row> {
    return orNotFound(this.getOrNull(condition)) as Promise<Row>;
  }

  /** Returns the first row, or null. Without an order, rows are ordered by primary key. */
  async first(): Promise<Row | null> {
    return (await read.first(this.query)) as Row | null;
  }

  async last(): Promise<Row | null> {
    return (await read.last(this.query)) as Row | null;
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
    return (await aggregate(this.query, build.aggregates(this.query, aggregates as never))) as never;
  }

  /** Returns a map of rows by the value of a unique field; the primary key by default. */
  async inBulk<const P extends ColumnName<M> & string>(
    keys: readonly unknown[],
    field?: P,
  ): Promise<Map<unknown, Row>> {
    return (await read.inBulk(this.query, keys, field)) as Map<unknown, Row>;
  }

  /** Reads rows through a database cursor, batch by batch, without holding all of them in memory. */
  iterator(options?: read.IteratorOptions): AsyncIterableIterator<Row> {
    const { batch } = read.iteratorOptions.read([options]);
    return read.iterate(this.query, batch) as AsyncIterableIterator<Row>;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Row> {
    return this.iterator();
  }

  /** Returns a page by its number, from 1. */
  async page(page: number, pageSize: number): Promise<Page<Row>> {
    return (await read.page(this.query, page, pageSize)) as Page<Row>;
  }

  /**
   * Returns the page after (or before) the cursor of another page, in any order: by fields that may be null, by fields of
   * related rows, by computed values.
   */
  async keyset(options: KeysetOptions): Promise<KeysetPage<Row>> {
    return (await keyset(this.query, keysetOptions.read([options]))) as KeysetPage<Row>;
  }

  /**
   * Returns the page that a client asks for: `?page=2&size=50`, or `?after=...` with `{ by: "key" }`. Parameters that are
   * not valid give a response with status 400.
   */
  pageFrom(input: ClientParameters, options: KeysetPageOptions): Promise<KeysetPage<Row>>;
  pageFrom(input: ClientParameters, options?: PageOptions): Promise<Page<Row>>;
  async pageFrom(
    input: ClientParameters,
    options?: PageOptions | KeysetPageOptions,
  ): Promise<Page<Row> | KeysetPage<Row>> {
    const settings = pageFields.read([options]);
    if (settings.by === "key") return this.keyset(keysetPage(input, settings)).catch(refuseCursor);
    const { page, size } = numberedPage(input, settings);
    return this.page(page, size);
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
  async explain(options?: read.ExplainOptions): Promise<string> {
    return read.explain(this.query, read.explainOptions.read([options]).analyze);
  }

  /** A queryset has no JSON before it has run. Inside the result of a handler it is run first, at any depth. */
  toJSON(): never {
    throw new ValueError("a queryset has no JSON before it is awaited");
  }

  async [toResponseSymbol](_request: Request): Promise<Response> {
    return (await queryJson(this.query))[toResponseSymbol]();
  }

  /** @internal A queryset of the same class for another query. */
  protected with(query: Query): this {
    return new (this.constructor as new (query: Query) => this)(query);
  }

  /** @internal The query with one more condition. */
  protected narrowed(condition: unknown): Query {
    return condition === undefined ? this.query : build.filter(this.query, conditionOf(condition));
  }
}
