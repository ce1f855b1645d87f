import { setOwn } from "../kit/own-property.js";
import type { JsonSchema } from "./json-schema.js";
import { isSchema, itemsOf, type ObjectShape, objectShape, resolve } from "./schema-walk.js";

type Prune = (value: unknown) => unknown;

/**
 * A function that copies a value without the properties that its schema does not declare. Some libraries keep them
 * (arktype does), and a response must not hold more than its schema says. A schema that allows further properties
 * explicitly, and an object of which it declares none, keep them all.
 */
export function declaredOnly(root: JsonSchema): Prune {
  const known = new Map<JsonSchema, Prune>();
  const pruneFor = (node: JsonSchema): Prune => {
    const schema = resolve(root, node);
    let prune = known.get(schema);
    if (prune === undefined) {
      // Made on first use, because a schema may refer to itself.
      let made: Prune | undefined;
      known.set(schema, (prune = (value) => (made ??= makePrune(schema))(value)));
    }
    return prune;
  };
  const makePrune = (schema: JsonSchema): Prune => {
    const items = itemsOf(root, schema);
    const pruneItem = items && pruneFor(items);
    const pruneObject = objectPrune(objectShape(root, schema), pruneFor);
    return (value) => {
      if (typeof value !== "object" || value === null) return value;
      if (Array.isArray(value)) return pruneItem ? value.map(pruneItem) : value;
      return typeof (value as { toJSON?: unknown }).toJSON === "function" ? value : pruneObject(value);
    };
  };
  return pruneFor(root);
}

function objectPrune(
  { properties, others }: ObjectShape,
  pruneFor: (node: JsonSchema) => Prune,
): (value: object) => object {
  const isOpen = others !== undefined && others !== false;
  if (properties.size === 0 && !isSchema(others)) return (value) => value;
  const prunes = new Map<string, Prune>();
  for (const [name, [only, ...more]] of properties) {
    prunes.set(name, pruneFor(more.length === 0 && only ? only : { anyOf: [only, ...more] }));
  }
  const pruneOther = isSchema(others) ? pruneFor(others) : (value: unknown) => value;
  return (value) => {
    const copy: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(value)) {
      const prune = prunes.get(name) ?? (isOpen ? pruneOther : undefined);
      if (prune) setOwn(copy, name, prune(item));
    }
    return copy;
  };
}
