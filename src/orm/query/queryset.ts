import type { DatabasePlace, Queries } from "../../engines/db/database.js";
import type { AnyExpression, Ordering, Subquery } from "../expressions/expression.js";
import { orderNode } from "../expressions/expression.js";
import { conditionOf } from "../expressions/q.js";
import { checkTimeZone } from "../expressions/time-zone.js";
import type { FieldsOf } from "../fields/types.js";
import type { ModelMeta } from "../meta.js";
import { type Query, rootQuery } from "../nodes.js";
import { checkCount } from "../run/paginate.js";
import * as build from "./builders.js";
import type { CheckedField, Defer, Only } from "./choice-types.js";
import type {
  CheckedAnnotation,
  CheckedClientOrder,
  CheckedCondition,
  CheckedKey,
  CheckedOrder,
  OuterIn,
  Unused,
  WithOuter,
} from "./condition-types.js";
import * as choice from "./field-choice.js";
import type { ClientParameters } from "./page-input.js";
import type {
  AnyName,
  CheckedSinglePath,
  CheckedValue,
  ExpressionValue,
  Name,
  PathValue,
  WithJoined,
} from "./path-types.js";
import type { CheckedPrefetch, Prefetch, PrefetchPath } from "./prefetches.js";
import { prefetchRelated } from "./prefetches.js";
import type { Annotations } from "./readable-rows.js";
import type { CheckedToOne, Merged, WithRelated } from "./row-types.js";
import type { Scoped } from "./scope-types.js";
import type { CheckedSelf, DepthIn, Empty, JoinedIn, JoinedRow, Joining, Pairs, WithDepth } from "./source-types.js";
import type { RecursiveOptions } from "./sources.js";
import * as sources from "./sources.js";
import { WritableRows } from "./writable-rows.js";

/**
 * A query for rows of a model. Nothing is sent until the queryset is awaited, iterated, or a method that returns a promise
 * is called. All other methods return a new queryset. `M` is the model, `Row` the type of a result, `A` the annotations.
 */
export class QuerySet<out M, out Row = M, out A = unknown> extends WritableRows<M, Row, A> {
  /**
   * The rows of a model, as your own queryset class: `static override get objects() { return BookSet.of(Book); }`. Methods of
   * that class can be called on every queryset that is made from it.
   */
  static of<S>(this: new (query: Query) => S, model: { readonly meta: ModelMeta }): S {
    return new this(rootQuery(model.meta));
  }

  /** Keeps rows for which the condition holds. The type changes only if the condition reads fields of the query around it. */
  filter<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition: CheckedCondition<M, A, K, P, X, B>,
  ): [OuterIn<B>] extends [never] ? this : Scoped<this, QuerySet<M, Row, A>, QuerySet<M, Row, WithOuter<A, B>>> {
    return this.with(build.filter(this.query, conditionOf(condition))) as never;
  }

  /** Removes rows for which the condition holds. Rows for which it is null stay. */
  exclude<const K extends Name = never, const P extends string = never, X = Unused, B = Unused>(
    condition: CheckedCondition<M, A, K, P, X, B>,
  ): [OuterIn<B>] extends [never] ? this : Scoped<this, QuerySet<M, Row, A>, QuerySet<M, Row, WithOuter<A, B>>> {
    return this.with(build.filter(this.query, { type: "not", child: conditionOf(condition) })) as never;
  }

  /**
   * Filters by the parameters that a client sent. Keys that are not in `allowed` throw `FieldError`, except those of
   * `pageFrom` and `order`. Strings are converted to the type of the field; a repeated `id__in` is one list.
   */
  filterFrom<const K extends Name>(
    input: ClientParameters,
    allowed: readonly ([AnyName] extends [K] ? string : CheckedKey<FieldsOf<M>, A, K>)[],
  ): this {
    return this.with(build.filterFrom(this.query, input, allowed as unknown as readonly string[]));
  }

  /** Sets the order of rows: `orderBy("-year", "author__name")`. Without arguments, removes it. */
  orderBy<const K extends readonly (Name | Ordering<string, unknown> | AnyExpression)[]>(
    ...keys: { readonly [I in keyof K]: CheckedOrder<M, A, K[I]> }
  ): this {
    return this.with(build.orderBy(this.query, (keys as unknown as Parameters<typeof orderNode>[0][]).map(orderNode)));
  }

  /** Sets the order that a client asked for. Fields that are not in `allowed` throw `FieldError`; `-` is accepted before each. */
  orderFrom<const K extends Name>(
    input: string | readonly string[] | null | undefined,
    allowed: readonly ([AnyName] extends [K] ? string : CheckedClientOrder<FieldsOf<M>, A, K>)[],
  ): this {
    return this.with(build.orderFrom(this.query, input, allowed as unknown as readonly string[]));
  }

  reverse(): this {
    return this.with(build.reverse(this.query));
  }

  limit(count: number): this {
    return this.with(build.limit(this.query, checkCount("limit", count)));
  }

  offset(count: number): this {
    return this.with(build.offset(this.query, checkCount("offset", count)));
  }

  /** Removes duplicate rows. With fields: keeps the first row of each combination of their values. */
  distinct<const K extends Name>(
    ...fields: readonly ([AnyName] extends [K] ? string : CheckedSinglePath<FieldsOf<M>, A, K>)[]
  ): this {
    return this.with(build.distinct(this.query, fields as unknown as readonly string[]));
  }

  /** Adds computed values to each row: `annotate({ bookCount: count("books") })`. */
  annotate<const E extends Annotations>(
    annotations: {
      readonly [K in keyof E]: CheckedAnnotation<M, A, E[K], K>;
    },
  ): Scoped<
    this,
    QuerySet<M, Row, A>,
    QuerySet<
      M,
      [AnyName] extends [E[keyof E]]
        ? Row
        : Merged<Row, { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> }>,
      A & { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> }
    >
  > {
    return this.with(build.annotate(this.query, annotations as never)) as never;
  }

  /**
   * Returns plain objects with these fields instead of model instances. Aggregates in a later `annotate()` are grouped by
   * them. A field of a to-many relation gives one row for each related row: `values("title", "tags__name")`.
   */
  values<const K extends Name>(
    ...fields: readonly ([AnyName] extends [K] ? string : CheckedValue<FieldsOf<M>, A, K>)[]
  ): Scoped<
    this,
    QuerySet<M, Row, A>,
    QuerySet<
      M,
      [AnyName] extends [K] ? unknown : { [P in K & string]: PathValue<FieldsOf<M>, A, P> },
      WithJoined<M, A, K>
    >
  > {
    return this.with(build.values(this.query, fields as unknown as readonly string[], "object")) as never;
  }

  /** Returns arrays with the values of these fields. */
  valuesList<const K extends readonly Name[]>(
    ...fields: { readonly [I in keyof K]: [AnyName] extends [K[I]] ? string : CheckedValue<FieldsOf<M>, A, K[I]> }
  ): Scoped<
    this,
    QuerySet<M, Row, A>,
    QuerySet<
      M,
      { -readonly [I in keyof K]: [AnyName] extends [K[I]] ? unknown : PathValue<FieldsOf<M>, A, K[I] & string> },
      WithJoined<M, A, K[number]>
    >
  > {
    return this.with(build.values(this.query, fields as unknown as readonly string[], "list")) as never;
  }

  /** Returns the values of one field. */
  flat<const P extends Name>(
    field: [AnyName] extends [P] ? string : CheckedValue<FieldsOf<M>, A, P>,
  ): Scoped<
    this,
    QuerySet<M, Row, A>,
    QuerySet<M, [AnyName] extends [P] ? unknown : PathValue<FieldsOf<M>, A, P & string>, WithJoined<M, A, P>>
  > {
    return this.with(build.values(this.query, [field] as unknown as readonly string[], "single")) as never;
  }

  /**
   * Loads only these fields and the primary key. Fields of related rows can follow `selectRelated` and `prefetchRelated`:
   * `only("title", "author__name")`.
   */
  only<const K extends Name>(
    ...fields: readonly ([AnyName] extends [K] ? string : CheckedField<M, Row, K>)[]
  ): Scoped<this, QuerySet<M, Row, A>, QuerySet<M, [AnyName] extends [K] ? Row : Only<M, Row, K & string>, A>> {
    return this.with(
      choice.only(build.notCombined(this.query, "only()"), fields as unknown as readonly string[]),
    ) as never;
  }

  /** Loads all fields except these: `defer("text", "author__biography")`. */
  defer<const K extends Name>(
    ...fields: readonly ([AnyName] extends [K] ? string : CheckedField<M, Row, K>)[]
  ): Scoped<this, QuerySet<M, Row, A>, QuerySet<M, [AnyName] extends [K] ? Row : Defer<M, Row, K & string>, A>> {
    return this.with(
      choice.defer(build.notCombined(this.query, "defer()"), fields as unknown as readonly string[]),
    ) as never;
  }

  /** Loads to-one relations with a join: `selectRelated("author", "author__country")`. */
  selectRelated<const P extends Name>(
    ...paths: readonly ([AnyName] extends [P] ? string : CheckedToOne<M, P>)[]
  ): Scoped<this, QuerySet<M, Row, A>, QuerySet<M, [AnyName] extends [P] ? Row : WithRelated<M, Row, P & string>, A>> {
    return this.with(build.selectRelated(this.query, paths as unknown as readonly string[])) as never;
  }

  /** Loads relations of any kind with one more query for each: `prefetchRelated("books", "books__tags")`. */
  prefetchRelated<const P extends readonly (Name | Prefetch<string>)[]>(
    ...paths: { readonly [I in keyof P]: [AnyName] extends [P[I]] ? unknown : CheckedPrefetch<M, P[I]> }
  ): Scoped<
    this,
    QuerySet<M, Row, A>,
    QuerySet<M, [AnyName] extends [P[number]] ? Row : WithRelated<M, Row, PrefetchPath<P[number]>>, A>
  > {
    return this.with(prefetchRelated(this.query, paths as unknown as readonly string[])) as never;
  }

  /**
   * Joins the rows of another queryset without a relation:
   * `innerJoin(stats, { on: { id: "author" }, select: { sold: "n" } })`. There is one row for each pair.
   */
  innerJoin<Other, const On extends Pairs, const S extends Pairs = Empty>(
    other: Subquery<Other>,
    join: Joining<M, A, Other, On, S>,
  ): Scoped<this, QuerySet<M, Row, A>, QuerySet<M, JoinedRow<Row, Other, S, never>, JoinedIn<A, Other, S, never>>> {
    return this.with(sources.join(this.query, other.query, false, join as never)) as never;
  }

  /** Joins the rows of another queryset. Rows without another one stay, with null in its place. */
  leftJoin<Other, const On extends Pairs, const S extends Pairs = Empty>(
    other: Subquery<Other>,
    join: Joining<M, A, Other, On, S>,
  ): Scoped<this, QuerySet<M, Row, A>, QuerySet<M, JoinedRow<Row, Other, S, null>, JoinedIn<A, Other, S, null>>> {
    return this.with(sources.join(this.query, other.query, true, join as never)) as never;
  }

  /**
   * Follows a relation of the model to itself from the rows of this queryset, step by step: `filter({ id: 1
   * }).recursive("children")` returns a row and everything below it. Circles are safe.
   */
  recursive<const P extends Name, const D extends string = never>(
    relation: [AnyName] extends [P] ? string : CheckedSelf<M, P>,
    options?: RecursiveOptions<D>,
  ): Scoped<this, QuerySet<M, Row, A>, QuerySet<M, WithDepth<Row, D>, DepthIn<A, D>>> {
    return this.with(sources.recursive(this.query, relation as unknown as string, options)) as never;
  }

  /** Locks the rows until the transaction ends. Throws `ProgrammingError` outside of a transaction. */
  forUpdate(options?: build.LockOptions): this {
    return this.with(build.forUpdate(this.query, options));
  }

  /** Combines the rows of querysets with the same columns, without duplicates. Only `orderBy`, `limit` and `offset` may follow. */
  union(...others: readonly QuerySet<M, Row, A>[]): this {
    return this.with(build.combine("UNION", [this.query, ...others.map((other) => other.query)]));
  }

  unionAll(...others: readonly QuerySet<M, Row, A>[]): this {
    return this.with(build.combine("UNION ALL", [this.query, ...others.map((other) => other.query)]));
  }

  intersection(...others: readonly QuerySet<M, Row, A>[]): this {
    return this.with(build.combine("INTERSECT", [this.query, ...others.map((other) => other.query)]));
  }

  difference(...others: readonly QuerySet<M, Row, A>[]): this {
    return this.with(build.combine("EXCEPT", [this.query, ...others.map((other) => other.query)]));
  }

  /** Returns the same queryset. */
  all(): this {
    return this.with(this.query);
  }

  /** Returns an empty queryset; no statement is sent. */
  none(): this {
    return this.with({ ...this.query, empty: true });
  }

  /** Includes softly deleted rows. */
  withDeleted(): this {
    return this.with(build.deleted(this.query, "shown", "withDeleted()"));
  }

  onlyDeleted(): this {
    return this.with(build.deleted(this.query, "only", "onlyDeleted()"));
  }

  /** Dates and parts of times (`at__year`, `truncate`) are those of this time zone instead of UTC. */
  inTimeZone(timeZone: string): this {
    return this.with({ ...build.notCombined(this.query, "inTimeZone()"), timeZone: checkTimeZone(timeZone) });
  }

  /** Reading a relation that was not loaded throws `LazyLoadError` instead of loading it. */
  strict(strict = true): this {
    return this.with({ ...this.query, strict });
  }

  /**
   * Runs the query on this database or transaction. `"primary"` reads all changes that were committed before, `"replica"`
   * reads a replica even after a write in the same request.
   */
  using(db: Queries | DatabasePlace): this {
    return this.with(typeof db === "string" ? { ...this.query, place: db } : { ...this.query, db });
  }

  /** Short for `using("primary")`. */
  primary(): this {
    return this.using("primary");
  }
}

/** The type of `Model.objects`. Declare it in a class with its own members: `declare static objects: Manager<Book>`. */
export type Manager<M> = QuerySet<M>;
