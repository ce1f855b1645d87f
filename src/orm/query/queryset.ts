import type { DatabasePlace, Queries } from "../../engines/db/database.js";
import { ValueError } from "../../internal/value-error.js";
import type { AnyExpression, Ordering, Subquery } from "../expressions/expression.js";
import { orderNode } from "../expressions/expression.js";
import { conditionOf } from "../expressions/q.js";
import { checkTimeZone } from "../expressions/time-zone.js";
import type { FieldsOf } from "../fields/types.js";
import type { LockNode } from "../nodes.js";
import { checkCount } from "../run/paginate.js";
import * as build from "./builders.js";
import type { CheckedField, Defer, Only } from "./choice-types.js";
import type {
  CheckedAnnotation,
  CheckedClientOrder,
  CheckedCondition,
  CheckedKey,
  CheckedOrder,
  Unused,
  WithOuter,
} from "./condition-types.js";
import * as choice from "./field-choice.js";
import type { ClientParameters } from "./page-input.js";
import type {
  CheckedPath,
  CheckedSinglePath,
  ExpressionValue,
  Name,
  PathValue,
  Unless,
  WithJoined,
} from "./path-types.js";
import type { CheckedPrefetch, Prefetch, PrefetchPath } from "./prefetches.js";
import { prefetchRelated } from "./prefetches.js";
import type { Annotations } from "./readable-rows.js";
import type { CheckedToOne, Merged, WithRelated } from "./row-types.js";
import type { CheckedSelf, DepthIn, Joined, Joining, WithDepth } from "./source-types.js";
import type { RecursiveOptions } from "./sources.js";
import * as sources from "./sources.js";
import { WritableRows } from "./writable-rows.js";

/**
 * A query for rows of a model. Nothing is sent until the queryset is awaited, iterated, or a method that returns a promise
 * is called. All other methods return a new queryset. `M` is the model, `Row` the type of a result, `A` the annotations.
 */
export class QuerySet<out M, out Row = M, out A = unknown> extends WritableRows<M, Row, A> {
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
   * Filters by the parameters that a client sent. Keys that are not in `allowed` throw `FieldError`, except those of
   * `pageFrom` and `order`. Strings are converted to the type of the field; a repeated `id__in` is one list.
   */
  filterFrom<const K extends Name>(
    input: ClientParameters,
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
    Unless<E[keyof E], Row, Merged<Row, { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> }>>,
    A & { -readonly [K in keyof E]: ExpressionValue<FieldsOf<M>, A, E[K]> }
  > {
    return new QuerySet(build.annotate(this.query, annotations as never));
  }

  /**
   * Returns plain objects with these fields instead of model instances. Aggregates in a later `annotate()` are grouped by
   * them. A field of a to-many relation gives one row for each related row: `values("title", "tags__name")`.
   */
  values<const K extends Name>(
    ...fields: readonly Unless<K, string, CheckedPath<FieldsOf<M>, A, K>>[]
  ): QuerySet<M, Unless<K, unknown, { [P in K & string]: PathValue<FieldsOf<M>, A, P> }>, WithJoined<M, A, K>> {
    return new QuerySet(build.values(this.query, fields as unknown as readonly string[], "object"));
  }

  /** Returns arrays with the values of these fields. */
  valuesList<const K extends readonly Name[]>(
    ...fields: { readonly [I in keyof K]: Unless<K[I], string, CheckedPath<FieldsOf<M>, A, K[I]>> }
  ): QuerySet<
    M,
    { -readonly [I in keyof K]: Unless<K[I], unknown, PathValue<FieldsOf<M>, A, K[I] & string>> },
    WithJoined<M, A, K[number]>
  > {
    return new QuerySet(build.values(this.query, fields as unknown as readonly string[], "list"));
  }

  /** Returns the values of one field. */
  flat<const P extends Name>(
    field: Unless<P, string, CheckedPath<FieldsOf<M>, A, P>>,
  ): QuerySet<M, Unless<P, unknown, PathValue<FieldsOf<M>, A, P & string>>, WithJoined<M, A, P>> {
    return new QuerySet(build.values(this.query, [field] as unknown as readonly string[], "single"));
  }

  /** Loads only these fields and the primary key. Fields of related rows can follow `selectRelated` and `prefetchRelated`: `only("title", "author__name")`. */
  only<const K extends Name>(
    ...fields: readonly Unless<K, string, CheckedField<M, Row, K>>[]
  ): QuerySet<M, Unless<K, Row, Only<M, Row, K & string>>, A> {
    return new QuerySet(choice.only(this.query, fields as unknown as readonly string[]));
  }

  /** Loads all fields except these: `defer("text", "author__biography")`. */
  defer<const K extends Name>(
    ...fields: readonly Unless<K, string, CheckedField<M, Row, K>>[]
  ): QuerySet<M, Unless<K, Row, Defer<M, Row, K & string>>, A> {
    return new QuerySet(choice.defer(this.query, fields as unknown as readonly string[]));
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
    return new QuerySet(prefetchRelated(this.query, paths as unknown as readonly string[]));
  }

  /** Joins the rows of another queryset without a relation: `innerJoin(stats, { on: { id: "author" }, select: { sold: "n" } })`. There is one row for each pair. */
  innerJoin<Other, const On, const S = unknown>(
    other: Subquery<Other>,
    join: Joining<M, A, Other, On, S>,
  ): QuerySet<M, Merged<Row, Joined<Other, S, never>>, A & Joined<Other, S, never>> {
    return new QuerySet(sources.join(this.query, other.query, false, join as never));
  }

  /** Joins the rows of another queryset. Rows without another one stay, with null in its place. */
  leftJoin<Other, const On, const S = unknown>(
    other: Subquery<Other>,
    join: Joining<M, A, Other, On, S>,
  ): QuerySet<M, Merged<Row, Joined<Other, S, null>>, A & Joined<Other, S, null>> {
    return new QuerySet(sources.join(this.query, other.query, true, join as never));
  }

  /**
   * Follows a relation of the model to itself from the rows of this queryset, step by step: `filter({ id: 1
   * }).recursive("children")` returns a row and everything below it. Circles are safe.
   */
  recursive<const P extends Name, const D extends string = never>(
    relation: Unless<P, string, CheckedSelf<M, P>>,
    options: RecursiveOptions<D> = {},
  ): QuerySet<M, WithDepth<Row, D>, DepthIn<A, D>> {
    return new QuerySet(sources.recursive(this.query, relation as unknown as string, options));
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

  /** Dates and parts of times (`at__year`, `truncate`) are those of this time zone instead of UTC. */
  inTimeZone(timeZone: string): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, timeZone: checkTimeZone(timeZone) });
  }

  /** Reading a relation that was not loaded throws `LazyLoadError` instead of loading it. */
  strict(strict = true): QuerySet<M, Row, A> {
    return new QuerySet({ ...this.query, strict });
  }

  /**
   * Runs the query on this database or transaction. `"primary"` reads all changes that were committed before, `"replica"`
   * reads a replica even after a write in the same request.
   */
  using(db: Queries | DatabasePlace): QuerySet<M, Row, A> {
    return new QuerySet(typeof db === "string" ? { ...this.query, place: db } : { ...this.query, db });
  }

  /** Short for `using("primary")`. */
  primary(): QuerySet<M, Row, A> {
    return this.using("primary");
  }
}

/** The type of `Model.objects`. Declare it in a class with members of its own: `declare static objects: Manager<Book>`. */
export type Manager<M> = QuerySet<M>;
