import type { GraphQLResolveInfo } from "graphql";
import { getArgumentValues, locatedError } from "../graphql-js.js";
import { keysOf, type Path } from "./path.js";
import type { FieldPlan } from "./plan.js";
import type { Run } from "./run.js";

/** True if a shallow copy is as good as a new object. */
export function isFlat(values: Readonly<Record<string, unknown>>): boolean {
  for (const name in values) {
    const value = values[name];
    if ((typeof value === "object" && value !== null) || typeof value === "function") return false;
  }
  return true;
}

/** The JSON text of a value, null, or undefined for a value that has none; or a promise of it. */
export type Text = string | null | undefined;

/** Executes fields that may run at the same time. The result is the JSON text of an object. */
export function executeFields(
  run: Run,
  fields: readonly FieldPlan[],
  source: unknown,
  path: Path | undefined,
): string | Promise<string> {
  let text = "";
  let start = 0;
  let pending: unknown[] | null = null;
  try {
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!;
      const result = executeField(run, field, source, path);
      if (pending !== null) pending.push(result);
      else if (typeof result === "string") text += text === "" ? field.prefix + result : `,${field.prefix}${result}`;
      else if (result === null) text += text === "" ? `${field.prefix}null` : `,${field.prefix}null`;
      else if (result !== undefined) {
        pending = [result];
        start = i;
      }
    }
  } catch (error) {
    if (pending === null) throw error;
    // The promises of the other fields are awaited, because they may be rejected too. It takes as many steps as in
    // graphql: the order of errors depends on it.
    return Promise.all(pending)
      .then(asIs)
      .finally(() => {
        throw error;
      }) as Promise<never>;
  }
  if (pending === null) return `{${text}}`;
  return settled(pending).then((results) => `{${joined(text, fields, start, results as Text[])}}`);
}

/** As `Promise.all`, in as many steps. With one promise among the values it takes a third of the time. */
export function settled(values: unknown[]): Promise<unknown[]> {
  let only = -1;
  for (let i = 0; i < values.length; i++) {
    if (!isThenable(values[i])) continue;
    if (only !== -1 || !(values[i] instanceof Promise)) return Promise.all(values);
    only = i;
  }
  if (only === -1) return Promise.all(values);
  return (values[only] as Promise<unknown>).then((value) => {
    values[only] = value;
    return values;
  });
}

const asIs = (values: unknown[]): unknown[] => values;

/** The members of an object, of which the first ones are text already. */
function joined(head: string, fields: readonly FieldPlan[], start: number, results: readonly Text[]): string {
  let text = head;
  for (let i = 0; i < results.length; i++) {
    const result = results[i];
    if (result === undefined) continue;
    if (text !== "") text += ",";
    text += fields[start + i]!.prefix + (result ?? "null");
  }
  return text;
}

/** Executes the fields of a mutation, one after the other. */
export function executeSerially(run: Run, fields: readonly FieldPlan[], source: unknown): string | Promise<string> {
  const results: Text[] = [];
  const from = (start: number): string | Promise<string> => {
    for (let i = start; i < fields.length; i++) {
      const result = executeField(run, fields[i]!, source, undefined);
      if (isThenable(result)) {
        return Promise.resolve(result).then((value) => {
          results[i] = value as Text;
          return from(i + 1);
        });
      }
      results[i] = result as Text;
    }
    return `{${joined("", fields, 0, results)}}`;
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
      const values = argumentsOf(run, field);
      info ??= infoOf(run, field, (path ??= pathOf(field, parent)));
      value = field.resolve(source, values, run.context, info);
    } else {
      const values = field.hasArguments ? argumentsOf(run, field) : null;
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

/**
 * The arguments of a field. Arguments of primitive values are computed once and copied for each call; others are computed
 * for each call, so that a resolver that changes them changes its own.
 */
function argumentsOf(run: Run, field: FieldPlan): Record<string, unknown> {
  if (!field.hasArguments) return {};
  if (field.constantArguments !== null) return { ...field.constantArguments };
  const known = run.arguments[field.slot];
  if (known) return { ...known };
  const values = getArgumentValues(field.definition, field.nodes[0]!, run.variables);
  if (known === undefined) run.arguments[field.slot] = isFlat(values) ? { ...values } : null;
  return values;
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
