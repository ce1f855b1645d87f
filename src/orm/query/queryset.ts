import type { Queries } from "../../engines/db/database.js";
import { ValueError } from "../../internal/value-error.js";
import type { Expression, Ordering } from "../expressions/expression.js";
import { orderNode } from "../expressions/expression.js";
import { type Condition, conditionOf } from "../expressions/q.js";
import type { FieldsOf } from "../fields/types.js";
import type { LockNode } from "../nodes.js";
import { checkCount } from "../run/paginate.js";
import type { Prefetch } from "./builders.js";
import * as build from "./builders.js";
import type { CheckedExpression, CheckedOrder, CheckedPath, OwnNames, PathValue } from "./path-types.js";
import type { Annotated, Annotations } from "./readable-set.js";
import type { ColumnName, RelationPath, ToOnePath, WithRelated } from "./row-types.js";
import type { CheckedCondition } from "./where-types.js";
import { WritableSet } from "./writable-set.js";

type Hint<T extends string> = T | (string & Record<never, never>);

/**
 * A query for rows of a model. Nothing is sent until the queryset is awaited, iterated, or a method that returns a promise
 * is called. All other methods return a new queryset: they are here. `M` is the model, `Row` the type of a result, `A` the
 * annotations.
 */
export class QuerySet<M, Row = M, A = unknown> extends WritableSet<M, Row, A> {
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
}

/** The type of `Model.objects`. Declare it in a class with members of its own: `declare static objects: Manager<Book>`. */
export type Manager<M> = QuerySet<M>;
