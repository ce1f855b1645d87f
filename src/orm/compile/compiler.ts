import { FieldError } from "../errors.js";
import type { ColumnType } from "../meta.js";
import type { ConditionNode, ExpressionNode, OrderNode, Query, Selection } from "../nodes.js";
import { isConstant, splitConditions } from "./aggregation.js";
import { type CombinedPart, orderByPosition } from "./combined.js";
import { compileCondition } from "./conditions.js";
import type { Context } from "./context.js";
import { typeOfExpression } from "./expression-types.js";
import { compileExpression } from "./expressions.js";
import { checkedLimit, isOutsideGroups, lockSql, namesField, orderOf, softDeleteColumn } from "./query-parts.js";
import { positionsIn, type RowPlan } from "./row-plan.js";
import { Scope, singleKey } from "./scope.js";
import { selectList } from "./select-list.js";
import { sourcesSql } from "./sources.js";
import { splitByWindows } from "./windows.js";
import { directionSql, namedList, type OrderTerm, orderSql, wrappedSelect } from "./wrapped-select.js";

export interface Compiled {
  readonly text: string;
  readonly params: readonly unknown[];
}

export interface CompiledSelect extends Compiled {
  readonly plan: RowPlan;
}

/** The source of a parameter, so that a statement can be used again with other values. */
export interface Binding {
  readonly from: ConditionNode | "limit" | "offset" | "constant" | null;
  readonly make: (value: unknown) => unknown;
}

const opaque: Binding = { from: null, make: (value) => value };

/** The clauses of a SELECT after its list and its tables. */
interface Clauses {
  where: string;
  groupBy: string;
  having: string;
}

export interface SelectOptions {
  readonly names?: readonly string[] | undefined;
  readonly also?: string | undefined;
}

export interface RowOptions {
  /** Gives the columns unique names, for code that reads rows by name. */
  readonly named?: boolean;
  /** The texts of these expressions stand at the end of each row. */
  readonly keys?: readonly ExpressionNode[];
  /** One more condition, as SQL. */
  readonly also?: (scope: Scope) => string;
}

/** Compiles a query to one statement. Identifiers come from models; everything else is a parameter. */
export class Compiler implements Context {
  readonly params: unknown[] = [];
  /** The source of each parameter, in the order of `params`. */
  readonly bindings: Binding[] = [];
  /** The expressions compiled so far: by scope, then by path or node. */
  readonly #expressions = new Map<Scope, Map<string | ExpressionNode, string>>();
  #aliases = 0;
  #lookup: ConditionNode | null = null;

  /** With `literalLimit`, the limit is part of the text: see statement-cache.ts. */
  constructor(private readonly literalLimit = false) {}

  param(value: unknown): string {
    this.bindings.push(opaque);
    return `$${this.params.push(value)}`;
  }

  bind(value: unknown, make: (value: unknown) => unknown): string {
    this.bindings.push({ from: this.#lookup, make });
    return `$${this.params.push(make(value))}`;
  }

  constant(value: unknown): string {
    this.bindings.push({ from: "constant", make: () => value });
    return `$${this.params.push(value)}`;
  }

  lookup(node: ConditionNode): void {
    this.#lookup = node;
  }

  #count(from: "limit" | "offset", value: number): string {
    this.bindings.push({ from, make: (given) => given });
    return `$${this.params.push(value)}`;
  }

  alias(): string {
    return `t${this.#aliases++}`;
  }

  /**
   * Compiles an expression. The same expression always has the same text and parameters: PostgreSQL recognizes a value
   * of GROUP BY or DISTINCT in ORDER BY only if both are written alike.
   */
  expression(node: ExpressionNode, scope: Scope): string {
    let known = this.#expressions.get(scope);
    if (known === undefined) this.#expressions.set(scope, (known = new Map()));
    const key = node.type === "path" ? node.path : node;
    let sql = known.get(key);
    if (sql === undefined) known.set(key, (sql = compileExpression(node, scope, this)));
    return sql;
  }

  condition(node: ConditionNode, scope: Scope): string {
    return compileCondition(node, scope, this);
  }

  typeOf(node: ExpressionNode, scope: Scope): ColumnType | undefined {
    return typeOfExpression(node, scope, this);
  }

  order(nodes: readonly OrderNode[], scope: Scope): string {
    return nodes
      .map((node) => this.#orderTerm(node, scope))
      .map(({ sql, tail }) => sql + tail)
      .join(", ");
  }

  scope(query: Query, outer: Scope | null = null): Scope {
    const scope = new Scope(query.meta, () => this.alias(), outer, query.annotations);
    scope.grouped = query.selection?.grouped === true;
    scope.timeZone = query.timeZone;
    scope.sources = query.sources;
    if (query.selection) scope.manyPaths = query.selection.many;
    return scope;
  }

  innerScope(query: Query, outer: Scope): Scope {
    return this.scope(query, outer);
  }

  /** The statement that returns the rows of a query. */
  select(query: Query, { named = false, keys = [], also }: RowOptions = {}): CompiledSelect {
    if (query.combined) return this.#selectCombined(query, named);
    const scope = this.scope(query);
    const { list, plan } = selectList(query, scope, this);
    for (const key of keys) list.push(`(${this.expression(key, scope)})::text`);
    const names = named ? uniqueNames(list) : undefined;
    return { text: this.assemble(query, scope, list, { names, also: also?.(scope) }), params: this.params, plan };
  }

  subselect(query: Query, outer: Scope | null, shape: "values" | "key" | "row" | "exists"): string {
    if (query.combined) throw new FieldError("a union cannot be a subquery");
    const scope = this.scope(query, outer);
    const list =
      shape === "exists"
        ? ["1"]
        : shape === "row"
          ? query.meta.primaryKey.map((column) => scope.column(column))
          : query.selection
            ? query.selection.fields.map(({ expression }) => this.expression(expression, scope))
            : [scope.column(singleKey(query.meta))];
    // The order matters only if a limit, an offset or distinct() with fields removes rows.
    const removes = query.limit !== null || query.offset !== null || Array.isArray(query.distinct);
    const ordered = removes ? query : { ...query, orderBy: [], reversed: false };
    return this.assemble(ordered, scope, list);
  }

  /**
   * Assembles a SELECT. The list must be compiled before, because it may join tables. `names` are the names of the list,
   * `also` is one more condition, as SQL.
   */
  assemble(query: Query, scope: Scope, list: readonly string[], { names, also }: SelectOptions = {}): string {
    const { windows, others } = splitByWindows(query);
    const clauses = this.#clauses({ ...query, where: others }, scope);
    if (also !== undefined) clauses.where = clauses.where === "" ? ` WHERE ${also}` : `${clauses.where} AND ${also}`;
    const from = ` FROM ${query.meta.sqlName} ${scope.alias}`;
    const order = this.#orderTerms(query, scope);
    const conditions = windows.map((condition) => this.condition(condition, scope));
    const sources = sourcesSql(query.sources, scope, this);
    const rest = `${sources}${clauses.where}${clauses.groupBy}${clauses.having}`;
    if (conditions.length > 0 || (query.distinct === true && order.some(({ sql }) => !list.includes(sql)))) {
      const parts = { list, names, order, conditions, tables: () => `${from}${scope.joins}${rest}` };
      return wrappedSelect(query, parts) + this.#range(query, scope);
    }
    let text = "SELECT ";
    if (query.distinct === true) text += "DISTINCT ";
    else if (query.distinct !== false) text += `DISTINCT ON (${this.#distinctOn(query.distinct, scope, order)}) `;
    text += namedList(list, names);
    text += `${from}${scope.joins}${rest}${orderSql(order)}${this.#range(query, scope)}`;
    if (query.lock === null) return text;
    if (query.distinct !== false || scope.grouped)
      throw new FieldError("forUpdate() cannot lock rows that are grouped or made distinct");
    return `${text} ${lockSql(query.lock, scope.alias)}`;
  }

  #range({ limit, offset }: Query, scope?: Scope): string {
    let text = "";
    // A statement is used again with another limit of its own query, not with those of subqueries.
    const count = (from: "limit" | "offset", value: number): string =>
      (scope?.outer ?? null) === null ? this.#count(from, value) : this.param(value);
    if (limit !== null) text += ` LIMIT ${this.literalLimit ? checkedLimit(limit) : count("limit", limit)}`;
    if (offset !== null) text += ` OFFSET ${count("offset", offset)}`;
    return text;
  }

  #clauses(query: Query, scope: Scope): Clauses {
    const conditions = [...query.where];
    const { grouped } = scope;
    const split = grouped ? splitConditions(conditions, scope) : { rows: conditions, groups: [] };
    const having = split.groups.map((condition) => this.condition(condition, scope)).join(" AND ");
    return {
      where: this.where(query, scope, split.rows),
      groupBy: grouped && query.selection ? this.#groupBy(query.selection, scope) : "",
      having: having && ` HAVING ${having}`,
    };
  }

  #orderTerms(query: Query, scope: Scope): OrderTerm[] {
    const { selection, distinct, orderBy } = query;
    const nodes = orderOf(query);
    if (selection === null || (distinct !== true && !selection.grouped))
      return nodes.map((node) => this.#orderTerm(node, scope));
    const sqlOf = (list: readonly ExpressionNode[]): string[] => list.map((each) => this.expression(each, scope));
    const selected = sqlOf(selection.fields.map(({ expression }) => expression));
    const keys = sqlOf(selection.keys ?? []);
    return nodes.flatMap((node) => {
      const term = this.#orderTerm(node, scope);
      if (selected.includes(term.sql) || namesField(node, selection)) return [term];
      // Each value would be there once for each value of an order that is not selected.
      if (distinct === true && orderBy === null) return [];
      if (distinct === true) throw new FieldError("distinct values can only be ordered by the values themselves");
      if (isOutsideGroups(node, scope, keys) && !keys.includes(term.sql))
        throw new FieldError("groups can only be ordered by the values that they have in common, and by aggregates");
      return [term];
    });
  }

  #orderTerm(node: OrderNode, scope: Scope): OrderTerm {
    return { sql: this.expression(node.expression, scope), tail: directionSql(node) };
  }

  where(query: Query, scope: Scope, conditions: readonly ConditionNode[] = query.where): string {
    const parts = conditions.map((condition) => this.condition(condition, scope));
    const mark = softDeleteColumn(query.meta);
    if (mark && query.deleted !== "shown")
      parts.push(`${scope.column(mark)} IS ${query.deleted === "only" ? "NOT " : ""}NULL`);
    if (query.empty) parts.push("FALSE");
    return parts.length === 0 ? "" : ` WHERE ${parts.join(" AND ")}`;
  }

  #groupBy(selection: Selection, scope: Scope): string {
    const keys = selection.keys ?? [];
    if (keys.length === 0) return "";
    // PostgreSQL cannot group by a constant: it would be a position in the list.
    const list = keys.map((key) => {
      const sql = this.expression(key, scope);
      return isConstant(key, scope) ? `(SELECT ${sql})` : sql;
    });
    return ` GROUP BY ${list.join(", ")}`;
  }

  #distinctOn(names: readonly string[], scope: Scope, order: readonly OrderTerm[]): string {
    const list = names.map((path) => this.expression({ type: "path", path }, scope));
    const missing = new Set(list);
    for (const { sql } of order) {
      if (missing.size > 0 && !list.includes(sql)) {
        const fields = names.map((name) => JSON.stringify(name)).join(", ");
        throw new FieldError(`the order of distinct(${fields}) must begin with its fields: orderBy(${fields}, ...)`);
      }
      missing.delete(sql);
    }
    return list.join(", ");
  }

  #selectCombined(query: Query, named: boolean): CompiledSelect {
    let plan: RowPlan | undefined;
    const { text } = this.combined(query, (part) => {
      const scope = this.scope(part);
      const made = selectList(part, scope, this);
      plan ??= made.plan;
      const names = named ? uniqueNames(made.list) : undefined;
      return { text: this.assemble(part, scope, made.list, { names }), positions: positionsIn(made.plan) };
    });
    return { text, params: this.params, plan: plan! };
  }

  /** The rows of a union or of another set operation. `compile` makes the SELECT of each query in it. */
  combined(query: Query, compile: (part: Query) => CombinedPart): CombinedPart {
    const { operator, queries } = query.combined!;
    const parts = queries.map((part) => (part.combined ? this.combined(part, compile) : compile(part)));
    const { positions } = parts[0]!;
    const rows = parts.map(({ text }) => `(${text})`).join(` ${operator} `);
    const range = query.empty ? " LIMIT 0" : this.#range(query);
    return { text: `${rows}${orderSql(orderByPosition(query, positions))}${range}`, positions };
  }
}

function uniqueNames(list: readonly string[]): string[] {
  return list.map((_, index) => `c${index}`);
}
