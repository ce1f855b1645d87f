import type { GraphQLResolveInfo } from "graphql";
import { getArgumentValues } from "../graphql-js.js";
import { abandonField } from "./abandon.js";
import { fieldError } from "./field-error.js";
import { completeLater, joinFields, Later, LaterObject, type Text } from "./later.js";
import type { Path } from "./path.js";
import type { FieldPlan, Run } from "./plan.js";
import { scalarText } from "./scalar-text.js";

/** True if a shallow copy is as good as a new object. */
export function isFlat(values: Readonly<Record<string, unknown>>): boolean {
  for (const name in values) {
    const value = values[name];
    if ((typeof value === "object" && value !== null) || typeof value === "function") return false;
  }
  return true;
}

/** Executes fields that may run at the same time. The result is the JSON text of an object, now or later. */
export function executeFields(
  run: Run,
  fields: readonly FieldPlan[],
  source: unknown,
  path: Path | undefined,
): string | Later {
  let text = "";
  let pending: LaterObject | null = null;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i]!;
    let result: unknown;
    try {
      result = executeField(run, field, source, path);
    } catch (error) {
      for (let j = i + 1; j < fields.length; j++) abandonField(run, fields[j]!, source);
      throw error;
    }
    if (pending !== null) pending.push(result);
    else if (typeof result === "string") text += (text === "" ? field.prefix : field.nextPrefix) + result;
    else if (result === null) text += `${text === "" ? field.prefix : field.nextPrefix}null`;
    else if (result !== undefined) {
      pending = new LaterObject(run, text, fields, i);
      pending.push(result);
    }
  }
  return pending ?? `{${text}}`;
}

/** Executes the fields of a mutation, one after the other. */
export async function executeSerially(run: Run, fields: readonly FieldPlan[], source: unknown): Promise<string> {
  const texts: Text[] = [];
  for (const field of fields) {
    const result = executeField(run, field, source, undefined);
    texts.push(result instanceof Later ? await textOf(result) : (result as Text));
  }
  return `{${joinFields("", fields, 0, texts)}}`;
}

/** A promise of a text that is not there yet. */
export function textOf(later: Later): Promise<Text> {
  return new Promise((resolve, reject) =>
    later.sendTo({ fill: (_, text) => resolve(text), fail: (_, error) => reject(error) }, 0),
  );
}

/** The text of a field, or a `Later`. */
function executeField(run: Run, field: FieldPlan, source: unknown, parent: Path | undefined): unknown {
  let path: Path | undefined = field.leaf ? undefined : pathOf(field, parent);
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
    const text = scalarText(field.scalar, value);
    if (text !== undefined) return text;
    const completed = isThenable(value)
      ? completeLater(run, field, field.complete, (path ??= pathOf(field, parent)), info, value)
      : field.complete(run, field, path, info, value);
    return completed instanceof Later ? completed.at(field, field.nonNull, path ?? pathOf(field, parent)) : completed;
  } catch (error) {
    abandonField(run, field, source);
    return fieldError(run, field, field.nonNull, path ?? pathOf(field, parent), error);
  }
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
  if (field.slot < 0) return getArgumentValues(field.definition, field.nodes[0]!, run.variables);
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
