/** A query as immutable data. Querysets and expressions create it; the compiler reads it. */

import type { DatabasePlace, Queries } from "../engines/db/database.js";
import type { SqlFragment } from "../engines/db/sql/sql.js";
import type { ColumnMeta, ColumnType, ModelMeta, RelationMeta } from "./meta.js";

export type ExpressionNode =
  /** A field of the model, through relations: `author__name`. */
  | { readonly type: "path"; readonly path: string }
  /** A field of the query around a subquery. */
  | { readonly type: "outer"; readonly path: string }
  | { readonly type: "value"; readonly value: unknown }
  /** A value of each row that was computed before the rows were grouped. */
  | { readonly type: "ofRow"; readonly expression: ExpressionNode }
  /** A field of the row that was to be inserted, in the update of a conflict. */
  | { readonly type: "excluded"; readonly path: string }
  /** A column of rows that are joined: see `Query.sources`. */
  | { readonly type: "joined"; readonly source: number; readonly column: number }
  /** A column of the subquery that the rows come from. */
  | { readonly type: "derived"; readonly column: string; readonly of: ColumnType | undefined }
  /** SQL written by the application. */
  | { readonly type: "fragment"; readonly fragment: SqlFragment }
  | CallNode
  | {
      readonly type: "binary";
      readonly operator: string;
      readonly left: ExpressionNode;
      readonly right: ExpressionNode;
    }
  | { readonly type: "cast"; readonly expression: ExpressionNode; readonly sqlType: string }
  | { readonly type: "isNull"; readonly expression: ExpressionNode; readonly holds: boolean }
  | {
      readonly type: "extract";
      readonly part: string;
      readonly expression: ExpressionNode;
      /** Undefined: the time zone of the query. */
      readonly timeZone: string | undefined;
    }
  | {
      readonly type: "truncate";
      readonly unit: string;
      readonly expression: ExpressionNode;
      readonly timeZone: string | undefined;
    }
  | {
      readonly type: "case";
      readonly branches: readonly { readonly when: ConditionNode; readonly value: ExpressionNode }[];
      readonly otherwise: ExpressionNode | undefined;
    }
  | {
      readonly type: "window";
      readonly expression: ExpressionNode;
      readonly partitionBy: readonly ExpressionNode[];
      readonly orderBy: readonly OrderNode[];
      readonly frame: string | undefined;
    }
  | { readonly type: "subquery"; readonly query: Query }
  | { readonly type: "exists"; readonly query: Query }
  | { readonly type: "condition"; readonly condition: ConditionNode };

export interface CallNode {
  readonly type: "call";
  readonly name: string;
  readonly args: readonly ExpressionNode[];
  readonly aggregate: boolean;
  readonly distinct?: boolean;
  /** The first argument is the order of the rows: `percentile_cont(0.5) WITHIN GROUP (ORDER BY price)`. */
  readonly withinGroup?: boolean;
  /** Counts or collects only rows for which this holds. */
  readonly filter?: ConditionNode;
  readonly orderBy?: readonly OrderNode[];
  /** The type of the result, where it is not that of the first argument. */
  readonly result?: "integer" | "float" | "text" | "boolean" | "json" | "array" | "sum" | "date" | "datetime";
}

export type ConditionNode =
  | {
      readonly type: "lookup";
      readonly key: string;
      readonly value: unknown;
      /** True for a condition on the related row of a result's row, after `values("tags__name")`. */
      readonly joined?: boolean;
    }
  | { readonly type: "and" | "or"; readonly children: readonly ConditionNode[] }
  | { readonly type: "not"; readonly child: ConditionNode }
  | { readonly type: "expression"; readonly expression: ExpressionNode }
  /** Rows of the model itself with one of these keys, each a list of the values of the columns. */
  | {
      readonly type: "keys";
      readonly columns: readonly ColumnMeta[];
      readonly keys: readonly (readonly unknown[])[];
    }
  /** The rows of a query for the same model, by primary key. */
  | { readonly type: "chosen"; readonly query: Query }
  /** Rows at the other end of a many-to-many relation of the row with this key. */
  | { readonly type: "member"; readonly relation: RelationMeta; readonly key: unknown };

export interface OrderNode {
  readonly expression: ExpressionNode;
  readonly descending: boolean;
  readonly nulls?: "first" | "last" | undefined;
}

export interface LockNode {
  readonly strength: "update" | "no key update" | "share" | "key share";
  readonly wait: "wait" | "nowait" | "skip locked";
}

/** Relations loaded with a row, by name; nested. */
export interface RelatedTree {
  readonly [relation: string]: RelatedNode;
}

export interface RelatedNode {
  /** The only columns of the related row to load, by index; null for all. */
  readonly columns: ReadonlySet<number> | null;
  readonly related: RelatedTree;
}

export interface PrefetchNode {
  readonly relation: string;
  /** The query for the related rows; undefined loads all of them. */
  readonly query: Query | undefined;
  readonly nested: readonly PrefetchNode[];
  /** The property that gets the rows; undefined for that of the relation. */
  readonly as: string | undefined;
}

export interface Selection {
  /** The names of the result's fields, with their expressions. */
  readonly fields: readonly { readonly name: string; readonly expression: ExpressionNode }[];
  readonly shape: "object" | "list" | "single";
  /** One row for each combination of the keys. */
  readonly grouped: boolean;
  /** What rows are grouped by. A later `values()` may leave them out of the result. */
  readonly keys?: readonly ExpressionNode[] | undefined;
  /** The fields of to-many relations: there is one row for each related row. */
  readonly many: readonly string[];
}

/** Rows beside those of the model. There is a row of the result for each pair. */
export type SourceNode = JoinedSource | RecursiveSource;

/** The rows of another query. */
export interface JoinedSource {
  readonly type: "rows";
  /** A query with a selection. */
  readonly query: Query;
  readonly left: boolean;
  /** Fields of the model, with the columns of the other rows that they are equal to. */
  readonly on: readonly (readonly [path: ExpressionNode, column: number])[];
}

/** The keys of the rows that are reached from those of a query, step by step. Column 1 is the depth. */
export interface RecursiveSource {
  readonly type: "recursive";
  readonly relation: RelationMeta;
  readonly start: Query;
  readonly self: boolean;
  readonly depth: boolean;
  readonly maxDepth: number | undefined;
}

export interface Query {
  readonly meta: ModelMeta;
  /** The connection that runs the query; null for the database that the models are bound to. */
  readonly db: Queries | null;
  /** The servers to read from; null for those that the database chooses. */
  readonly place: DatabasePlace | null;
  readonly where: readonly ConditionNode[];
  /** The number of conditions before the first window function, which is computed over their rows; null without one. */
  readonly windowsAfter: number | null;
  readonly orderBy: readonly OrderNode[] | null;
  readonly reversed: boolean;
  readonly limit: number | null;
  readonly offset: number | null;
  readonly distinct: boolean | readonly string[];
  readonly annotations: Readonly<Record<string, ExpressionNode>>;
  /** Plain values instead of models. */
  readonly selection: Selection | null;
  /** The only columns to load, by index; null for all. */
  readonly columns: ReadonlySet<number> | null;
  readonly related: RelatedTree;
  readonly prefetch: readonly PrefetchNode[];
  readonly lock: LockNode | null;
  readonly sources: readonly SourceNode[];
  readonly combined: {
    readonly operator: "UNION" | "UNION ALL" | "INTERSECT" | "EXCEPT";
    readonly queries: readonly Query[];
  } | null;
  readonly strict: boolean;
  readonly deleted: "hidden" | "shown" | "only";
  /** The time zone of dates and parts of times. */
  readonly timeZone: string;
  /** Matches nothing, and is never sent. */
  readonly empty: boolean;
  /** The relation that the query reads, if it reads one: the log of queries names it. */
  readonly via: RelationMeta | null;
  /**
   * Says if values of clients, or also their regular expressions, are among the conditions: only PostgreSQL can check if
   * a date is in the calendar or an expression valid.
   */
  readonly client: "values" | "patterns" | null;
}

export function rootQuery(meta: ModelMeta): Query {
  return {
    meta,
    db: null,
    place: null,
    where: [],
    windowsAfter: null,
    orderBy: null,
    reversed: false,
    limit: null,
    offset: null,
    distinct: false,
    annotations: Object.freeze({}),
    selection: null,
    columns: null,
    related: Object.freeze({}),
    prefetch: [],
    lock: null,
    sources: [],
    combined: null,
    strict: false,
    deleted: "hidden",
    timeZone: "UTC",
    empty: false,
    via: null,
    client: null,
  };
}

/** All rows at the other end of a relation. A to-one relation includes a row that was deleted softly. */
export function relatedQuery(relation: RelationMeta): Query {
  return { ...rootQuery(relation.target), deleted: relation.single ? "shown" : "hidden", via: relation };
}
