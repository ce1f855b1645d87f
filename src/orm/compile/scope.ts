import { didYouMean } from "../../kit/suggest.js";
import { FieldError } from "../errors.js";
import { quote } from "../identifiers.js";
import type { ColumnMeta, ModelMeta, RelationMeta } from "../meta.js";
import type { ExpressionNode, Query, SourceNode } from "../nodes.js";

/** A table in a statement, with the tables joined to it. Names are resolved only here. */
export class Scope {
  readonly alias: string;
  /** True if rows are grouped: aggregates of to-many relations then join them instead of using a subquery each. */
  grouped = false;
  /** True if the rows come from a subquery that has no columns except the annotations. */
  derivedOnly = false;
  /** Rows that are joined beside those of relations. */
  sources: readonly SourceNode[] = [];
  readonly #sourceAliases: string[] = [];
  /** The time zone of dates and parts of times. */
  timeZone = "UTC";
  /** The selected fields of to-many relations, which are joined. */
  manyPaths: readonly string[] = [];
  readonly #root: Scope;
  readonly #children = new Map<string, Scope>();
  readonly #nextAlias: () => string;
  #joins = "";

  constructor(
    readonly meta: ModelMeta,
    nextAlias: () => string,
    /** The scope of the query around a subquery. */
    readonly outer: Scope | null = null,
    readonly annotations: Readonly<Record<string, ExpressionNode>> = {},
    parent: Scope | null = null,
    /** True if there may be no row, because a relation on the path can lead to none. */
    readonly optional: boolean = false,
  ) {
    this.alias = nextAlias();
    this.#nextAlias = nextAlias;
    this.#root = parent ? parent.#root : this;
    if (parent) this.timeZone = parent.timeZone;
  }

  /** Compiles a value of a single row. */
  ungrouped(compile: () => string): string {
    const { grouped } = this;
    this.grouped = false;
    try {
      return compile();
    } finally {
      this.grouped = grouped;
    }
  }

  /** The joins that were needed, as SQL after the first table. */
  get joins(): string {
    return this.#joins;
  }

  column(column: ColumnMeta): string {
    return `${this.alias}.${quote(column.column)}`;
  }

  sourceAlias(at: number): string {
    return (this.#sourceAliases[at] ??= this.#nextAlias());
  }

  /** Joins the table of a to-one relation. Returns the same scope each time. */
  join(relation: RelationMeta): Scope {
    const known = this.#children.get(relation.name);
    if (known) return known;
    const optional = this.optional || relation.nullable;
    const child = new Scope(relation.target, this.#nextAlias, this.outer, {}, this, optional);
    const on = matching(relation, this, child);
    this.#root.#joins += ` ${optional ? "LEFT" : "INNER"} JOIN ${relation.target.sqlName} ${child.alias} ON ${on}`;
    this.#children.set(relation.name, child);
    return child;
  }

  /** Joins a to-many relation: one row for each related row. Softly deleted rows are left out. */
  joinMany(relation: RelationMeta): Scope {
    const known = this.#children.get(relation.name);
    if (known) return known;
    const child = new Scope(relation.target, this.#nextAlias, this.outer, {}, this, true);
    this.#root.#joins += ` LEFT JOIN ${this.#manyTables(relation, child)}`;
    this.#children.set(relation.name, child);
    return child;
  }

  #manyTables(relation: RelationMeta, child: Scope): string {
    const { target, through, targetColumn } = relation;
    const mark = target.columns.find((column) => column.softDelete);
    const live = mark ? ` AND ${child.column(mark)} IS NULL` : "";
    const table = `${target.sqlName} ${child.alias}`;
    if (through === undefined) return `${table} ON ${matching(relation, this, child)}${live}`;
    const between = this.#nextAlias();
    const source = this.column(relation.sourceColumn);
    const pair = `${between}.${quote(through.sourceColumn.column)} = ${source}`;
    const on = `${child.column(targetColumn)} = ${between}.${quote(through.targetColumn.column)}`;
    const pairs = `${through.meta.sqlName} ${between}`;
    // A pair whose row is deleted softly must not become a row without a related row.
    return mark
      ? `(${pairs} INNER JOIN ${table} ON ${on}${live}) ON ${pair}`
      : `${pairs} ON ${pair} LEFT JOIN ${table} ON ${on}`;
  }
}

/** The condition that a row of the target belongs to a row of the source, for a relation without a join table. */
export function matching(
  { sourceColumns, targetColumns }: RelationMeta,
  source: Pick<Scope, "column">,
  target: Scope,
): string {
  return targetColumns
    .map((column, at) => `${target.column(column)} = ${source.column(sourceColumns[at]!)}`)
    .join(" AND ");
}

/** A scope only for resolving names; no statement is compiled from it. */
export function namesOf({ meta, annotations }: Pick<Query, "meta" | "annotations">): Scope {
  return new Scope(meta, () => "", null, annotations);
}

/** The result of resolving a name. `rest` are the parts after it: lookups, keys of JSON. */
export type Resolution =
  | { readonly kind: "column"; readonly scope: Scope; readonly column: ColumnMeta; readonly rest: readonly string[] }
  | { readonly kind: "annotation"; readonly node: ExpressionNode; readonly rest: readonly string[] }
  | { readonly kind: "many"; readonly scope: Scope; readonly relation: RelationMeta; readonly rest: readonly string[] };

/** Several columns that are compared together: a composite key, or the columns that refer to one. */
export interface KeyResolution {
  readonly kind: "key";
  readonly scope: Scope;
  /** The path of the row that has the columns. */
  readonly row: readonly string[];
  readonly columns: readonly ColumnMeta[];
  /** The model of the rows that the key belongs to, with the columns of the key there. */
  readonly target: ModelMeta;
  readonly references: readonly ColumnMeta[];
  readonly rest: readonly string[];
}

/** Resolves a name on the rows that to-many relations on its path are joined with. */
export function resolveJoined(scope: Scope, path: string): Exclude<Resolution, { kind: "many" }> {
  let found = resolvePath(scope, path);
  while (found.kind === "many") {
    const inner = found.scope.joinMany(found.relation);
    const [next] = found.rest;
    const named = next !== undefined && isName(inner.meta, next);
    found = resolvePath(inner, [...(named ? [] : [singleKey(inner.meta).name]), ...found.rest].join("__"));
  }
  return found;
}

/** Resolves a name such as `author__country__name` and joins the relations on its path. */
export function resolvePath(scope: Scope, path: string): Resolution {
  const found = resolveLookup(scope, path);
  if (found.kind !== "key") return found;
  throw new FieldError(`${shown(path)} stands for several columns: name one of its fields`);
}

/** Like `resolvePath`, for a condition: a name may stand for a composite key. */
export function resolveLookup(scope: Scope, path: string): Resolution | KeyResolution {
  if (scope.derivedOnly) return derivedValue(scope, path);
  const parts = splitPath(path);
  let current = scope;
  for (let i = 0; ; i++) {
    const part = parts[i]!;
    const rest = parts.slice(i + 1);
    if (i === 0 && Object.hasOwn(scope.annotations, part)) {
      return { kind: "annotation", node: scope.annotations[part]!, rest };
    }
    if (part === "pk") return wholeKey(current, parts.slice(0, i), rest);
    const relation = current.meta.relations.get(part);
    if (relation === undefined) {
      const column = current.meta.column(part);
      if (column === undefined) throw noField(current.meta, part);
      return { kind: "column", scope: current, column, rest };
    }
    if (!relation.single) return { kind: "many", scope: current, relation, rest };
    const next = rest[0];
    if (next === undefined || !isName(relation.target, next)) {
      if (relation.kind === "reverseOne") return wholeKey(current.join(relation), parts.slice(0, i + 1), rest);
      if (relation.sourceColumns.length === 1)
        return { kind: "column", scope: current, column: relation.sourceColumn, rest };
      const { target, sourceColumns: columns, targetColumns: references } = relation;
      return { kind: "key", scope: current, row: parts.slice(0, i), columns, target, references, rest };
    }
    // The key of the other row is in this row: no join is needed.
    if (relation.sourceColumns.length > 1) {
      const column = columnInstead(relation, rest);
      if (column) return { kind: "column", scope: current, column, rest: rest.slice(1) };
    } else if (
      relation.kind !== "reverseOne" &&
      (next === "pk" || relation.target.column(next) === relation.targetColumn)
    ) {
      const leadsOn = leadsFurther(relation.target, rest);
      const { primaryKey } = relation.target;
      const isKey = next !== "pk" || (primaryKey.length === 1 && primaryKey[0] === relation.targetColumn);
      if (isKey && !leadsOn)
        return { kind: "column", scope: current, column: relation.sourceColumn, rest: rest.slice(1) };
    }
    current = current.join(relation);
  }
}

/** One of the values of a subquery. Their names may be paths. */
function derivedValue({ annotations }: Scope, path: string): Resolution {
  const parts = splitPath(path);
  for (let end = parts.length; end > 0; end--) {
    const name = parts.slice(0, end).join("__");
    if (Object.hasOwn(annotations, name))
      return { kind: "annotation", node: annotations[name]!, rest: parts.slice(end) };
  }
  throw new FieldError(`${shown(path)} is not among the values of the query`);
}

function wholeKey(scope: Scope, row: readonly string[], rest: readonly string[]): Resolution | KeyResolution {
  const { primaryKey: columns } = scope.meta;
  if (columns.length === 1) return { kind: "column", scope, column: columns[0]!, rest };
  return { kind: "key", scope, row, columns, target: scope.meta, references: columns, rest };
}

/** The paths of the columns of a composite key. */
export function keyPaths({ row, columns }: KeyResolution): string[] {
  return columns.map((column) => [...row, column.name].join("__"));
}

/**
 * The column of the source that is equal to a column of the target. If one of several columns is null, there is no
 * related row, but the others have values: then the target must be joined.
 */
function columnInstead(relation: RelationMeta, rest: readonly string[]): ColumnMeta | undefined {
  if (relation.kind === "reverseOne" || relation.nullable || leadsFurther(relation.target, rest)) return undefined;
  const column = relation.target.column(rest[0]!);
  return column && relation.sourceColumns[relation.targetColumns.indexOf(column)];
}

/** True if a path continues through a relation to a field of the model that it leads to. */
function leadsFurther(meta: ModelMeta, [name, next]: readonly string[]): boolean {
  const relation = meta.relations.get(name!);
  return relation !== undefined && next !== undefined && isName(relation.target, next);
}

function isName(meta: ModelMeta, name: string): boolean {
  return name === "pk" || meta.relations.has(name) || meta.column(name) !== undefined;
}

/** The parts of a name. Input of a client that is not made of names is refused here. */
export function splitPath(path: string): string[] {
  if (typeof path !== "string") throw new FieldError("a field must be given by its name");
  const parts = path.split("__");
  if (path.length > 500 || parts.some((part) => part === "") || /[\p{C}]/u.test(path)) {
    throw new FieldError(`${shown(path)} is not the name of a field`);
  }
  return parts;
}

export function singleKey(meta: ModelMeta): ColumnMeta {
  if (meta.primaryKey.length === 1) return meta.primaryKey[0]!;
  throw new FieldError(`${meta.name} has a composite key: name its fields`);
}

/** The path on a related row; its key if there is no more of it. */
export function restPath(rest: readonly string[], meta: ModelMeta): string {
  return rest.length === 0 ? singleKey(meta).name : rest.join("__");
}

/** A column of the model itself, by the name of its field. */
export function ownColumn(name: string, { meta }: Pick<Scope, "meta">): ColumnMeta {
  const column = meta.column(name);
  if (column === undefined) throw noField(meta, name);
  return column;
}

export function noField(meta: ModelMeta, name: string): FieldError {
  if (meta.foreignKeys.some((key) => key.name === name))
    return new FieldError(`${meta.name}.${name} stands for several columns: name its fields`);
  const known = [...meta.columns.map((column) => column.name), ...meta.relations.keys()];
  return new FieldError(`${meta.name} has no field ${shown(name)}${didYouMean(name.slice(0, 100), known)}`);
}

/** A name as a message shows it: on one line, and short. */
export function shown(name: string): string {
  const text = JSON.stringify(name.length > 60 ? `${name.slice(0, 57)}...` : name);
  return text.replace(
    /[\p{C}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
