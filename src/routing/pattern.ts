import { percentDecoded } from "../kit/encoding.js";
import { type Check, is } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";

/** A path pattern taken apart. */
export interface Pattern {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly paramNames: readonly string[];
}

export type Segment =
  | { readonly kind: "static"; readonly text: string }
  | { readonly kind: "param"; readonly name: string }
  | { readonly kind: "wildcard"; readonly name: string };

const parameter = /^\{([A-Za-z_$][\w$-]*)(:\*)?\}$/;
/** A parameter with a type or an expression, as other frameworks have it. */
const typedParameter = /^\{([A-Za-z_$][\w$-]*):[^{}]*\}$/;
/** A parameter but for the letters of its name. */
const misnamedParameter = /^\{[^{}:]+(?::\*)?\}$/;
const reserved = new Set(["__proto__", "constructor", "prototype"]);

/** Takes a pattern apart; `{id}` is one segment, `{rest:*}` the rest of the path. */
export function parsePattern(text: string): Pattern {
  if (typeof text !== "string" || !text.startsWith("/")) {
    throw new ValueError(`a path begins with '/': ${JSON.stringify(text)} does not`);
  }
  if (/[?#\\\x00-\x1f\x7f]/.test(text)) {
    throw new ValueError(`the path ${JSON.stringify(text)} holds a character that a path cannot have`);
  }
  const segments = text
    .slice(1)
    .split("/")
    .map((part) => parseSegment(part, text));
  const paramNames = segments.flatMap((segment) => (segment.kind === "static" ? [] : [segment.name]));
  const repeated = paramNames.find((name, index) => paramNames.indexOf(name) !== index);
  if (repeated) throw new ValueError(`the path '${text}' names the parameter '${repeated}' twice`);
  if (segments.slice(0, -1).some((segment) => segment.kind === "wildcard")) {
    throw new ValueError(`in the path '${text}' a {name:*} takes all that is left, so it must stand last`);
  }
  return { text, segments, paramNames };
}

export const isPlainPath: Check<string> = (value) =>
  is.path(value) ?? (parsePattern(value as string).paramNames.length > 0 ? "a plain path" : undefined);

/** One path of a site as seen from another: `/a/docs` to `/openapi.json` is `../openapi.json`. */
export function relativeAddress(from: string, to: string): string {
  const here = from.split("/").slice(1, -1);
  const there = to.split("/").slice(1);
  let common = 0;
  while (common < here.length && common < there.length - 1 && here[common] === there[common]) common++;
  return [...here.slice(common).map(() => ".."), ...there.slice(common)].join("/") || "./";
}

/** A prefix and a path as one path: `/api` and `/` give `/api`, `/api` and `/books` give `/api/books`. */
export function joinPaths(prefix: string, path: string): string {
  if (prefix === "" || prefix === "/") return path;
  const trimmed = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
  return path === "/" || path === "" ? trimmed : trimmed + path;
}

function parseSegment(part: string, whole: string): Segment {
  if (!part.includes("{") && !part.includes("}")) {
    return { kind: "static", text: staticText(part, whole) };
  }
  const match = parameter.exec(part);
  if (!match) {
    const [, typed] = typedParameter.exec(part) ?? [];
    let cure = "write a whole segment as {name}, or {name:*} for the rest";
    if (typed !== undefined)
      cure = `write {${typed}}, and check its type with a schema in the option 'params' of the route`;
    else if (misnamedParameter.test(part))
      cure = "its name takes a-z, A-Z, 0-9, '_', '$' and '-', and it begins with no digit or '-'";
    throw new ValueError(`'${part}' in the path '${whole}' is not a parameter: ${cure}`);
  }
  const name = match[1]!;
  if (reserved.has(name)) throw new ValueError(`'${name}' in the path '${whole}' cannot be the name of a parameter`);
  return { kind: match[2] ? "wildcard" : "param", name };
}

/** The text of a segment, with its percent escapes decoded: requests are compared after decoding too. */
function staticText(part: string, whole: string): string {
  if (part.startsWith(":") && part.length > 1) {
    throw new ValueError(`'${part}' in the path '${whole}' is no parameter here: write {${part.slice(1)}}`);
  }
  if (part === "*") throw new ValueError(`'*' in the path '${whole}' matches nothing here: write {rest:*}`);
  const text = percentDecoded(part);
  if (text === null) throw new ValueError(`'${part}' in the path '${whole}' has a percent escape that is not valid`);
  if (text === "." || text === ".." || text.includes("\0") || text.includes("\\")) {
    throw new ValueError(`the path '${whole}' holds the segment '${part}', which no request can have`);
  }
  return text;
}
