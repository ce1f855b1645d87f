/** Rows beside those of the model: joins of other querysets, and rows that are reached step by step. */

import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { onChosenRows } from "../compile/chosen-rows.js";
import { namesOf, noField, resolvePath, shown } from "../compile/scope.js";
import { refuseWindows } from "../compile/windows.js";
import { FieldError } from "../errors.js";
import type { ExpressionNode, Query, SourceNode } from "../nodes.js";
import { checkNewName, values } from "./builders.js";

const joinOptions = options("innerJoin()", {
  on: option.required<Readonly<Record<string, unknown>>>(is.object),
  select: option<Readonly<Record<string, unknown>>>(is.object, {}),
});

/** Joins the rows of another query. `on` pairs fields of the model with fields of the other rows. */
export function join(query: Query, other: Query, left: boolean, given: object): Query {
  const { on, select } = joinOptions.read([given], left ? "leftJoin()" : "innerJoin()");
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

const recursiveOptions = options("recursive()", {
  /** False: without the rows to start from, unless a step leads back to them. Default true. */
  self: option(is.boolean, true),
  depth: option(is.text),
  /** The largest number of steps. Default: no limit. */
  maxDepth: option(is.integer(1)),
});

export interface RecursiveOptions<Depth extends string = string>
  extends Omit<OptionsOf<typeof recursiveOptions.fields>, "depth"> {
  /** The name of an annotation: the number of steps from the nearest start. */
  readonly depth?: Depth | undefined;
}

/** The rows of a query, and all rows that are reached from them through a relation of the model to itself. */
export function recursive(query: Query, name: string, given: RecursiveOptions | undefined): Query {
  const { self, depth, maxDepth } = recursiveOptions.read([given]);
  const relation = query.meta.relations.get(name);
  if (relation === undefined) throw noField(query.meta, String(name));
  if (relation.target.sqlName !== query.meta.sqlName)
    throw new FieldError(`${query.meta.name}.${name} leads to ${relation.target.name}, not back to ${query.meta.name}`);
  if (query.combined || query.selection || Object.keys(query.annotations).length > 0)
    throw new FieldError("recursive() takes rows of a model: call annotate() and values() after it");
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
