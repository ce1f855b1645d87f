import { ValueError } from "../../kit/value-error.js";
import { pathKind } from "../../routing/tree.js";

/** A URI with variables (RFC 6570, levels 1 and 2): `{name}` has no slash, `{+name}` may have. */
export interface UriTemplate {
  readonly names: readonly string[];
  /** The values of the variables, decoded; null if the URI is another. */
  match(uri: string): readonly string[] | null;
}

interface Variable {
  readonly name: string;
  readonly slashes: boolean;
  /** The text up to the next variable or the end. */
  readonly after: string;
}

/** Null for a URI without variables. */
export function uriTemplate(uri: string): UriTemplate | null {
  const [start, ...rest] = uri.split("{");
  if (rest.length === 0 && !uri.includes("}")) return null;
  const variables = rest.map((part): Variable => {
    const found = /^(\+?)([A-Za-z_][A-Za-z0-9_]*)\}([^}]*)$/.exec(part);
    if (found) return { name: found[2]!, slashes: found[1] === "+", after: found[3]! };
    throw new ValueError(
      `{${part} in the resource ${uri} is not supported: write {name}, or {+name} for text with slashes`,
    );
  });
  const names = variables.map(({ name }) => name);
  if (start!.includes("}") || new Set(names).size < names.length) {
    throw new ValueError(`the resource ${uri} has a variable twice, or a brace without its partner`);
  }
  if (variables.slice(0, -1).some(({ after }) => after === "")) {
    throw new ValueError(`the resource ${uri} has two variables without text between them`);
  }
  return { names, match: (given) => match(given, start!, variables) };
}

/** In one pass, without a regular expression: a client chooses the URI, and some expressions take quadratic time. */
function match(uri: string, start: string, variables: readonly Variable[]): readonly string[] | null {
  if (!uri.startsWith(start)) return null;
  const values: string[] = [];
  let at = start.length;
  for (const [index, { slashes, after }] of variables.entries()) {
    const isLast = index === variables.length - 1;
    // The last text must be the end, so a value may hold the same text before.
    const end = isLast ? (uri.endsWith(after) ? uri.length - after.length : -1) : uri.indexOf(after, at + 1);
    const value = uri.slice(at, end);
    if (end <= at || (!slashes && value.includes("/"))) return null;
    // As in the path of a request: no dots that lead elsewhere, no broken escapes, no zero byte.
    if (value.includes("\0") || pathKind(`/${value}`) === "malformed") return null;
    values.push(decodeURIComponent(value));
    at = end + after.length;
  }
  return values;
}
