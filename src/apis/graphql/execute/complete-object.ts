import type { GraphQLObjectType, GraphQLOutputType, GraphQLResolveInfo } from "graphql";
import { defaultTypeResolver, GraphQLError, inspect, isObjectType } from "../graphql-js.js";
import { markInternal } from "../internal-errors.js";
import { abandon, abandonField, leaveRest } from "./abandon.js";
import { executeFields, isThenable } from "./execute-fields.js";
import { LaterValue } from "./later.js";
import type { Path } from "./path.js";
import type { Complete, FieldPlan, Run, Selection } from "./plan.js";

export function object(type: GraphQLObjectType, selection: Selection): Complete {
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    if (type.isTypeOf) return checkedObject(run, field, path, info, value, type, selection);
    return executeObject(run, type, selection, value, path);
  };
}

/** The fields of an object. Those of deferred fragments are left for later, if the client takes them and there is room. */
function executeObject(
  run: Run,
  type: GraphQLObjectType,
  selection: Selection,
  value: unknown,
  path: Path | undefined,
  known: readonly FieldPlan[] | null = null,
): unknown {
  const fields =
    known ??
    (run.parts === null ? selectedFields(run, type, selection, value) : splitFields(run, type, selection, value, path));
  leaveRest(run, fields, selection, value);
  return executeFields(run, fields, value, path);
}

/** The fields to execute now. */
export function splitFields(
  run: Run,
  type: GraphQLObjectType,
  selection: Selection,
  source: unknown,
  path: Path | undefined,
): readonly FieldPlan[] {
  const { fields, deferred } = selected(run, type, selection, source, () => selection.splitOf(run, type));
  if (deferred.length === 0) return fields;
  const now = [...fields];
  for (const { label, fields: later } of deferred) {
    if (run.parts!.take()) {
      // A promise that is rejected before it is looked at ends the process.
      for (const field of later) abandonField(run, field, source);
      run.parts!.add({ kind: "defer", label, path, fields: later, source });
    } else now.push(...later);
  }
  return now;
}

function checkedObject(
  run: Run,
  field: FieldPlan,
  path: Path | undefined,
  info: GraphQLResolveInfo | null,
  value: unknown,
  type: GraphQLObjectType,
  selection: Selection,
): unknown {
  const fields = run.parts === null ? selectedFields(run, type, selection, value) : null;
  return decided(
    run,
    type,
    selection,
    value,
    () => type.isTypeOf!(value, run.context, info!),
    (isIt) => {
      if (isIt) return executeObject(run, type, selection, value, path, fields);
      throw markInternal(
        new GraphQLError(`Expected value of type "${type.name}" but got: ${inspect(value)}.`, { nodes: field.nodes }),
      );
    },
  );
}

export function abstract(type: AbstractType, selection: Selection): Complete {
  return (run, field, path, info, value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    const decide = (): unknown => (type.resolveType ?? defaultTypeResolver)(value, run.context, info!, type);
    return decided(run, type, selection, value, decide, (name) => {
      const runtimeType = runtimeTypeOf(run, field, type, name, value);
      if (runtimeType.isTypeOf) return checkedObject(run, field, path, info, value, runtimeType, selection);
      return executeObject(run, runtimeType, selection, value, path);
    });
  };
}

function selectedFields(run: Run, type: GraphQLObjectType, selection: Selection, value: unknown): readonly FieldPlan[] {
  return selected(run, type, selection, value, () => selection.fieldsOf(run, type));
}

function selected<T>(run: Run, type: GraphQLObjectType, selection: Selection, value: unknown, select: () => T): T {
  try {
    return select();
  } catch (error) {
    abandon(run, type, selection, value);
    throw error;
  }
}

/** Completes a value after a decision about its type. Until then, and if there is none, no code waits for its members. */
function decided(
  run: Run,
  type: GraphQLOutputType,
  selection: Selection,
  value: unknown,
  decide: () => unknown,
  finish: (decision: unknown) => unknown,
): unknown {
  try {
    const decision = decide();
    if (!isThenable(decision)) return finish(decision);
    abandon(run, type, selection, value);
    return new LaterValue(run, decision, finish);
  } catch (error) {
    abandon(run, type, selection, value);
    throw error;
  }
}

type AbstractType = Extract<GraphQLOutputType, { resolveType?: unknown }>;

function runtimeTypeOf(
  run: Run,
  field: FieldPlan,
  type: AbstractType,
  name: unknown,
  value: unknown,
): GraphQLObjectType {
  const place = `field "${field.parentType.name}.${field.name}"`;
  if (name === null || name === undefined) {
    throw new GraphQLError(
      `Abstract type "${type.name}" must resolve to an Object type at runtime for ${place}. Either the "${type.name}" type should provide a "resolveType" function or each possible type should provide an "isTypeOf" function.`,
      { nodes: field.nodes },
    );
  }
  if (isObjectType(name)) {
    throw new GraphQLError(
      "Support for returning GraphQLObjectType from resolveType was removed in graphql-js@16.0.0 please return type name instead.",
    );
  }
  if (typeof name !== "string") {
    throw markInternal(
      new GraphQLError(
        `Abstract type "${type.name}" must resolve to an Object type at runtime for ${place} with value ${inspect(value)}, received "${inspect(name)}".`,
      ),
    );
  }
  const runtimeType = run.schema.getType(name);
  const { nodes } = field;
  if (!runtimeType) {
    throw new GraphQLError(
      `Abstract type "${type.name}" was resolved to a type "${name}" that does not exist inside the schema.`,
      { nodes },
    );
  }
  if (!isObjectType(runtimeType)) {
    throw new GraphQLError(`Abstract type "${type.name}" was resolved to a non-object type "${name}".`, { nodes });
  }
  if (!run.schema.isSubType(type, runtimeType)) {
    throw new GraphQLError(`Runtime Object type "${runtimeType.name}" is not a possible type for "${type.name}".`, {
      nodes,
    });
  }
  return runtimeType;
}
