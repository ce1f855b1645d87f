import type { GraphQLAbstractType, GraphQLObjectType, GraphQLOutputType } from "graphql";
import { isLeafType, isListType, isNonNullType, isObjectType } from "../graphql-js.js";
import type { FieldPlan, Run, Selection } from "./plan.js";

/**
 * Takes the promises of a value that no field waits for, because an error has ended the list or the object around them:
 * a rejection that nobody looks at ends the process. Only promises that are under way already: reading a getter, or calling
 * the `then` of another object, could start work.
 */
export function abandon(run: Run, type: GraphQLOutputType, selection: Selection, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (value instanceof Promise) {
    value.then((resolved) => abandon(run, type, selection, resolved)).catch(ignore);
  } else if (isNonNullType(type)) abandon(run, type.ofType, selection, value);
  else if (isListType(type)) {
    if (Array.isArray(value)) for (const item of value) abandon(run, type.ofType, selection, item);
  } else abandonObject(run, type, selection, value);
}

/** The value of a field, if it is a property of its source. */
export function abandonField(run: Run, field: FieldPlan, source: unknown): void {
  if (field.definition.resolve || typeof source !== "object" || source === null) return;
  const value: unknown = Object.getOwnPropertyDescriptor(source, field.name)?.value;
  abandon(run, field.definition.type, field.selection, value);
}

function abandonObject(run: Run, type: GraphQLOutputType, selection: Selection, value: object): void {
  if (isLeafType(type)) return;
  const types = isObjectType(type) ? [type] : run.schema.getPossibleTypes(type as GraphQLAbstractType);
  for (const each of types) {
    for (const field of fieldsOf(run, each, selection, value)) abandonField(run, field, value);
  }
}

/** A condition that is null makes the fields unknown: that is the error, and all members are abandoned. */
function fieldsOf(run: Run, type: GraphQLObjectType, selection: Selection, value: object): readonly FieldPlan[] {
  try {
    return selection.fieldsOf(run, type);
  } catch {
    for (const each of Object.values(Object.getOwnPropertyDescriptors(value))) {
      if (each.value instanceof Promise) each.value.catch(ignore);
    }
    return [];
  }
}

function ignore(): void {}
