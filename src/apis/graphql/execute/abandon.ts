import type { GraphQLAbstractType, GraphQLObjectType, GraphQLOutputType } from "graphql";
import { isPlainObject } from "../../../kit/options.js";
import { isLeafType, isListType, isNonNullType, isObjectType } from "../graphql-js.js";
import type { FieldPlan, Run, Selection } from "./plan.js";

/** Objects and lists inside each other in which promises are looked for. */
const maxDepth = 4;

/**
 * Takes the promises of a value that no field waits for, because an error has ended the list or the object around them:
 * an unhandled rejection ends the process. Only promises that are under way already: reading a getter, or calling
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

/**
 * Takes the promises in members of an object that no field reads: the client chooses the fields. Of the objects of a
 * selection the first one of an execution is looked at, and the next as long as promises are found: rows of a database cost
 * nothing.
 */
export function leaveRest(run: Run, fields: readonly FieldPlan[], selection: Selection, value: unknown): void {
  if (selection.lookedIn === run.id) return;
  selection.lookedIn = takePromises(value, fields) ? 0 : run.id;
}

/** Takes promises in plain objects and lists, except in members that fields read. True if there are any. */
export function takePromises(value: unknown, fields: readonly FieldPlan[] = [], depth = maxDepth): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof Promise) {
    value.then(undefined, ignore);
    return true;
  }
  if (depth === 0) return false;
  let found = false;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (takePromises(item, [], depth - 1)) found = true;
      // Items of a list are alike.
      else if (typeof item === "object" && item !== null) break;
    }
  } else if (isPlainObject(value) || (depth === maxDepth && !ArrayBuffer.isView(value))) {
    for (const name of Object.keys(value)) {
      const member: unknown = Object.getOwnPropertyDescriptor(value, name)?.value;
      if (typeof member !== "object" || member === null) continue;
      if (fields.some((field) => field.resolve === null && field.name === name)) continue;
      if (takePromises(member, [], depth - 1)) found = true;
    }
  }
  return found;
}

function abandonObject(run: Run, type: GraphQLOutputType, selection: Selection, value: object): void {
  takePromises(value);
  if (isLeafType(type)) return;
  const types = isObjectType(type) ? [type] : run.schema.getPossibleTypes(type as GraphQLAbstractType);
  for (const each of types) {
    for (const field of fieldsOf(run, each, selection)) abandonField(run, field, value);
  }
}

/** A condition that is null makes the fields unknown: that is the error. */
function fieldsOf(run: Run, type: GraphQLObjectType, selection: Selection): readonly FieldPlan[] {
  try {
    return selection.fieldsOf(run, type);
  } catch {
    return [];
  }
}

function ignore(): void {}
