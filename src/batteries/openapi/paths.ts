import { parsePattern } from "../../routing/pattern.js";
import type { OpenApiObject } from "./types.js";

const itemMethods = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);

/** The paths of a document. The specification takes two templates that differ in names alone for one. */
export class Paths {
  readonly #items = new Map<
    string,
    { readonly path: string; readonly names: readonly string[]; item: OpenApiObject }
  >();

  /** Adds an operation; false when another one has its place. */
  add(pattern: string, method: string, operation: OpenApiObject): boolean {
    const { paramNames } = parsePattern(pattern);
    const path = templateOf(pattern);
    const shape = shapeOf(pattern);
    const known = this.#items.get(shape) ?? { path, names: paramNames, item: {} };
    this.#items.set(shape, known);
    const key = method.toLowerCase();
    const place = itemMethods.has(key) ? known.item : ((known.item["x-additionalOperations"] ??= {}) as OpenApiObject);
    const name = itemMethods.has(key) ? key : method;
    if (Object.hasOwn(place, name)) return false;
    place[name] = renamed(operation, paramNames, known.names);
    return true;
  }

  all(): Record<string, OpenApiObject> {
    return Object.fromEntries([...this.#items.values()].map(({ path, item }) => [path, item]));
  }
}

/** `/files/{path:*}` as OpenAPI writes it. */
export function templateOf(pattern: string): string {
  return pattern.replaceAll(":*}", "}");
}

/** A template without the names in it. */
export function shapeOf(pattern: string): string {
  return pattern.replace(/\{[^}]*\}/g, "{}");
}

function renamed(operation: OpenApiObject, from: readonly string[], to: readonly string[]): OpenApiObject {
  const parameters = operation["parameters"] as OpenApiObject[] | undefined;
  if (!parameters || from.every((name, index) => name === to[index])) return operation;
  return {
    ...operation,
    parameters: parameters.map((item) =>
      item["in"] === "path" ? { ...item, name: to[from.indexOf(String(item["name"]))] } : item,
    ),
  };
}
