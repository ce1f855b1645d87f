import { capitalized } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";
import type { RouteDefinition } from "../../routing/definition.js";
import { parsePattern } from "../../routing/pattern.js";

/** Names of operations: the same method and path always give the same, and no two are equal. */
export class OperationIds {
  readonly #owners = new Map<string, string>();

  /** The name that a route was given; throws when it was given to another too. */
  claim(given: string, owner: string): string {
    const other = this.#owners.get(given);
    if (other !== undefined) {
      throw new ValueError(`the operationId '${given}' of ${owner} is that of ${other} too; it must be unique`);
    }
    this.#owners.set(given, owner);
    return given;
  }

  /** A name made of the method and the path. */
  derive(method: string, path: string): string {
    const base = derivedId(method, path);
    let id = base;
    for (let n = 2; this.#owners.has(id); n++) id = `${base}_${n}`;
    return this.claim(id, `${method} ${path}`);
  }
}

/** Throws when two routes were given the same operationId. */
export function checkOperationIds(routes: readonly RouteDefinition[]): void {
  const ids = new OperationIds();
  for (const { methods, path, options } of routes) {
    if (options.hidden || options.operationId === undefined) continue;
    ids.claim(options.operationId, `${methods.join(", ")} ${path}`);
  }
}

/** `GET /books/{id}` is `getBooksById`. */
export function derivedId(method: string, path: string): string {
  const words = parsePattern(path).segments.map((segment) =>
    segment.kind === "static" ? pascalCase(segment.text) : `By${pascalCase(segment.name)}`,
  );
  return method.toLowerCase() + (words.join("") || "Root");
}

/** `getBooksById` is `Get books by id`: a heading for an operation without one. */
export function headingOf(id: string): string {
  const words = id
    .replace(/[_-]+/g, " ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .trim()
    .toLowerCase();
  return capitalized(words);
}

export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map(capitalized)
    .join("");
}
