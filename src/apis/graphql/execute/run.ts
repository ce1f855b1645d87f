import {
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  locatedError,
  type OperationDefinitionNode,
} from "graphql";
import type { FieldPlan, Path } from "./plan.js";

/** The state of one execution. */
export class Run {
  readonly schema: GraphQLSchema;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  readonly operation: OperationDefinitionNode;
  readonly variables: Record<string, unknown>;
  readonly rootValue: unknown;
  readonly context: unknown;
  errors: GraphQLError[] | null = null;
  #nulled: Set<Path | undefined> | null = null;
  readonly #arguments: (Record<string, unknown> | null)[] = [];

  constructor(
    schema: GraphQLSchema,
    fragments: Record<string, FragmentDefinitionNode>,
    operation: OperationDefinitionNode,
    variables: Record<string, unknown>,
    rootValue: unknown,
    context: unknown,
  ) {
    this.schema = schema;
    this.fragments = fragments;
    this.operation = operation;
    this.variables = variables;
    this.rootValue = rootValue;
    this.context = context;
  }

  /** Keeps an error, unless a null of another error has already taken its place or that of an ancestor. */
  add(error: GraphQLError, path: Path | undefined): void {
    const nulled = (this.#nulled ??= new Set());
    for (let at = path; at !== undefined; at = at.prev) if (nulled.has(at)) return;
    if (nulled.has(undefined)) return;
    nulled.add(path);
    (this.errors ??= []).push(error);
  }

  /**
   * The arguments of a field. Arguments of primitive values are computed once and copied for each call; others are
   * computed for each call, so that a resolver that changes them changes its own.
   */
  argumentsOf(field: FieldPlan): Record<string, unknown> {
    if (!field.hasArguments) return {};
    if (field.constantArguments !== null) return { ...field.constantArguments };
    const known = this.#arguments[field.slot];
    if (known) return { ...known };
    const values = getArgumentValues(field.definition, field.nodes[0]!, this.variables);
    if (known === undefined) this.#arguments[field.slot] = isFlat(values) ? { ...values } : null;
    return values;
  }
}

/** True if a shallow copy is as good as a new object. */
export function isFlat(values: Readonly<Record<string, unknown>>): boolean {
  for (const name in values) {
    const value = values[name];
    if ((typeof value === "object" && value !== null) || typeof value === "function") return false;
  }
  return true;
}

/** An object without inherited members (`__proto__` is a valid name of a field), of a shape that engines optimise. */
function Bare(): void {}
Bare.prototype = Object.create(null);
const bare = Bare as unknown as new () => Record<string, unknown>;

/** Executes fields that may run at the same time. */
export function executeFields(
  run: Run,
  fields: readonly FieldPlan[],
  source: unknown,
  path: Path | undefined,
): Record<string, unknown> | Promise<Record<string, unknown>> {
  const results = new bare();
  let keys: string[] | null = null;
  let pending: PromiseLike<unknown>[] | null = null;
  try {
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!;
      const result = executeField(run, field, source, path);
      if (isThenable(result)) {
        // Takes its place in the order of keys.
        results[field.key] = undefined;
        (keys ??= []).push(field.key);
        (pending ??= []).push(result);
      } else {
        results[field.key] = result;
      }
    }
  } catch (error) {
    // The promises of the other fields are awaited, because they may be rejected too.
    if (pending === null) throw error;
    // As many steps as in graphql: the order of errors depends on it.
    return Promise.all(pending)
      .then(asIs)
      .finally(() => {
        throw error;
      }) as Promise<never>;
  }
  if (pending === null) return results;
  return Promise.all(pending).then((values) => {
    for (let i = 0; i < values.length; i++) results[keys![i]!] = values[i];
    return results;
  });
}

const asIs = (values: unknown[]): unknown[] => values;

/** Executes the fields of a mutation, one after the other. */
export function executeSerially(
  run: Run,
  fields: readonly FieldPlan[],
  source: unknown,
): Record<string, unknown> | Promise<Record<string, unknown>> {
  const results = new bare();
  const from = (start: number): Record<string, unknown> | Promise<Record<string, unknown>> => {
    for (let i = start; i < fields.length; i++) {
      const field = fields[i]!;
      const result = executeField(run, field, source, undefined);
      if (isThenable(result)) {
        return Promise.resolve(result).then((value) => {
          results[field.key] = value;
          return from(i + 1);
        });
      }
      results[field.key] = result;
    }
    return results;
  };
  return from(0);
}

function executeField(run: Run, field: FieldPlan, source: unknown, parent: Path | undefined): unknown {
  let path: Path | undefined = field.leaf
    ? undefined
    : { prev: parent, key: field.key, typename: field.parentType.name };
  try {
    let info: GraphQLResolveInfo | null = null;
    if (field.needsInfo) info = infoOf(run, field, (path ??= pathOf(field, parent)));
    let value: unknown;
    if (field.resolve !== null) {
      const values = run.argumentsOf(field);
      info ??= infoOf(run, field, (path ??= pathOf(field, parent)));
      value = field.resolve(source, values, run.context, info);
    } else {
      const values = field.hasArguments ? run.argumentsOf(field) : null;
      if ((typeof source === "object" && source !== null) || typeof source === "function") {
        value = (source as Record<string, unknown>)[field.name];
        if (typeof value === "function") {
          info ??= infoOf(run, field, (path ??= pathOf(field, parent)));
          value = (source as Record<string, (...given: unknown[]) => unknown>)[field.name]!(
            values ?? {},
            run.context,
            info,
          );
        }
      }
    }
    let completed: unknown;
    if (isThenable(value)) {
      const place = (path ??= pathOf(field, parent));
      completed = value.then((resolved) => field.complete(run, field, place, info, resolved));
    } else {
      completed = field.complete(run, field, path, info, value);
    }
    if (!isThenable(completed)) return completed;
    const place = path ?? pathOf(field, parent);
    return completed.then(undefined, (error: unknown) => fieldError(run, field, field.nonNull, place, error));
  } catch (error) {
    return fieldError(run, field, field.nonNull, path ?? pathOf(field, parent), error);
  }
}

/** Null for an error at a place that may be null; else the error goes on to the parent. */
export function fieldError(run: Run, field: FieldPlan, nonNull: boolean, path: Path, raw: unknown): null {
  const error = locatedError(raw, field.nodes as FieldPlan["nodes"][number][], keysOf(path));
  if (nonNull) throw error;
  run.add(error, path);
  return null;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

function pathOf(field: FieldPlan, parent: Path | undefined): Path {
  return { prev: parent, key: field.key, typename: field.parentType.name };
}

function infoOf(run: Run, field: FieldPlan, path: Path): GraphQLResolveInfo {
  return {
    fieldName: field.name,
    fieldNodes: field.nodes,
    returnType: field.definition.type,
    parentType: field.parentType,
    path,
    schema: run.schema,
    fragments: run.fragments,
    rootValue: run.rootValue,
    operation: run.operation,
    variableValues: run.variables,
  };
}

function keysOf(path: Path): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let at: Path | undefined = path; at !== undefined; at = at.prev) keys.push(at.key);
  return keys.reverse();
}
