/** Rows beside those of the model: joins of other querysets, and rows that are reached step by step. */

import { ValueError } from "../../kit/value-error.js";
import { onChosenRows } from "../compile/chosen-rows.js";
import { namesOf, noField, resolvePath, shown } from "../compile/scope.js";
import { refuseWindows } from "../compile/windows.js";
import { FieldError } from "../errors.js";
import type { ExpressionNode, Query, SourceNode } from "../nodes.js";
import { checkNewName, values } from "./builders.js";

interface JoinOptions {
  readonly on: Readonly<Record<string, unknown>>;
  readonly select?: Readonly<Record<string, unknown>>;
}

/** Joins the rows of another query. `on` pairs fields of the model with fields of the other rows. */
export function join(query: Query, other: Query, left: boolean, { on, select = {} }: JoinOptions): Query {
  if (query.combined || query.selection) throw new FieldError("only querysets of models can be joined with others");
  if (other?.combined) throw new FieldError("a union cannot be joined");
  refuseWindows(query, "a join");
  if (query.distinct === true && query.sources.length > 0)
    throw new FieldError("a second join cannot follow distinct(): call distinct() after it");
  const pairs = Object.entries(on);
  if (pairs.length === 0) throw new FieldError("a join needs at least one pair of fields in 'on'");
  const wanted = [...pairs, ...Object.entries(select)].map(([, name]) => String(name));
  const rows = other.selection ? other : values(other, [...new Set(wanted)], "object");
  const names = rows.selection!.fields.map((field) => field.name);
  const columnOf = (name: unknown): number => {
    const at = names.indexOf(name as string);
    if (at === -1) throw new FieldError(`${shown(String(name))} is not among the values of the joined query`);
    return at;
  };
  const source: SourceNode = {
    type: "rows",
    query: rows,
    left,
    on: pairs.map(([path, name]) => {
      if (resolvePath(namesOf(query), path).kind === "many")
        throw new FieldError(`${shown(path)} leads to many rows and cannot be compared in a join`);
      return [{ type: "path", path }, columnOf(name)];
    }),
  };
  const annotations: Record<string, ExpressionNode> = { ...query.annotations };
  for (const [name, column] of Object.entries(select)) {
    checkNewName(query, name);
    annotations[name] = { type: "joined", source: query.sources.length, column: columnOf(column) };
  }
  // Each row of a model is distinct already. Its pairs need not be.
  return { ...onChosenRows(query, "join()"), distinct: false, annotations, sources: [...query.sources, source] };
}

export interface RecursiveOptions<Depth extends string = string> {
  /** False: without the rows to start from, unless a step leads back to them. */
  readonly self?: boolean;
  /** The name of an annotation: the number of steps from the nearest start. */
  readonly depth?: Depth;
  /** The largest number of steps. */
  readonly maxDepth?: number;
}

/** The rows of a query, and all rows that are reached from them through a relation of the model to itself. */
export function recursive(query: Query, name: string, options: RecursiveOptions): Query {
  const { self = true, depth, maxDepth } = options;
  const relation = query.meta.relations.get(name);
  if (relation === undefined) throw noField(query.meta, String(name));
  if (relation.target.sqlName !== query.meta.sqlName)
    throw new FieldError(`${query.meta.name}.${name} leads to ${relation.target.name}, not back to ${query.meta.name}`);
  if (query.combined || query.selection || Object.keys(query.annotations).length > 0)
    throw new FieldError("recursive() takes rows of a model: call annotate() and values() after it");
  if (maxDepth !== undefined && (!Number.isSafeInteger(maxDepth) || maxDepth < 1))
    throw new ValueError("maxDepth must be a positive integer");
  if (depth !== undefined) checkNewName(query, depth);
  if (relation.through && depth !== undefined && maxDepth === undefined)
    throw new FieldError(`the depth of a many-to-many relation needs 'maxDepth': there can be many ways to a row`);
  const start: Query = { ...query, related: {}, prefetch: [], columns: null, lock: null };
  return {
    ...query,
    where: [],
    limit: null,
    offset: null,
    distinct: false,
    sources: [{ type: "recursive", relation, start, self, depth: depth !== undefined, maxDepth }],
    annotations: depth === undefined ? {} : { [depth]: { type: "joined", source: 0, column: 1 } },
  };
}
