import type { GraphQLInterfaceType, GraphQLObjectType, GraphQLOutputType, SelectionSetNode } from "graphql";
import { isPlainObject } from "../../../kit/options.js";
import { isInterfaceType, isLeafType, isListType, isNonNullType, isObjectType, parse } from "../graphql-js.js";
import { badInput } from "../models/filters.js";

export type EntityReference = Readonly<Record<string, unknown>>;

/**
 * The fields of a type that a representation has, read as arguments of their types are: clients send them, not the program.
 * All other members are left out.
 */
export function readReference(
  type: GraphQLObjectType | GraphQLInterfaceType,
  given: object,
  place = type.name,
): EntityReference {
  const reference: Record<string, unknown> = { __typename: type.name };
  for (const [name, field] of Object.entries(type.getFields())) {
    if (!Object.hasOwn(given, name)) continue;
    reference[name] = readValue(field.type, (given as Record<string, unknown>)[name], `${place}.${name}`);
  }
  return reference;
}

function readValue(type: GraphQLOutputType, value: unknown, place: string): unknown {
  if (isNonNullType(type)) return readValue(type.ofType, value, place);
  // The router asks other subgraphs for fields of `@requires`, whose errors give null.
  if (value === null) return null;
  if (isListType(type)) {
    if (!Array.isArray(value)) throw badInput(`${place} of a representation must be a list.`);
    return value.map((item) => readValue(type.ofType, item, place));
  }
  if (isLeafType(type)) {
    try {
      return type.parseValue(value);
    } catch (error) {
      throw badInput(`${place} of a representation: ${(error as Error).message}`);
    }
  }
  if (!isPlainObject(value)) throw badInput(`${place} of a representation must be an object.`);
  return isObjectType(type) || isInterfaceType(type) ? readReference(type, value, place) : value;
}

/** The fields of a `@key`: `id organization { id }`. */
export function readKey(fields: string): SelectionSetNode {
  const [definition] = parse(`{${fields}}`, { noLocation: true }).definitions;
  return (definition as { selectionSet: SelectionSetNode }).selectionSet;
}

/** True if a reference has all fields of a key. */
export function hasKey({ selections }: SelectionSetNode, value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => hasKey({ selections } as SelectionSetNode, item));
  return selections.every((selection) => {
    if (selection.kind !== "Field") return true;
    const member = (value as EntityReference | null)?.[selection.name.value];
    if (member === undefined || member === null) return false;
    return selection.selectionSet ? hasKey(selection.selectionSet, member) : true;
  });
}
