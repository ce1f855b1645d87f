/** Data and operations as source code, in the layout of the formatter. */

import { MigrationError } from "../errors.js";
import type { Operation } from "../operation.js";
import { isOperation } from "../operations/define.js";

/** Code for an operation that cannot be told as data; undefined for any other. */
export type CodeOf = (operation: Operation) => string | undefined;

export interface TextPosition {
  /** The spaces in front of the line on which it begins. */
  readonly indent: number;
  /** The characters in front of it on that line, the spaces included. */
  readonly lead: number;
  /** The characters that follow its last one. */
  readonly trail: number;
  /** The number of levels of objects that take several lines even if one is enough. */
  readonly tall?: number;
}

const width = 120;

/** A value as an expression that begins at a place: on one line where that fits. */
export function sourceText(value: unknown, place: TextPosition, codeOf: CodeOf): string {
  const line = oneLine(value, place.tall ?? 0, codeOf);
  if (line !== undefined && place.lead + line.length + place.trail <= width) return line;
  if (isOperation(value)) return callText(value, place, codeOf);
  if (Array.isArray(value)) {
    const items = value.map((item): [string, unknown] => ["", item]);
    return block(["[", "]"], items, place, codeOf);
  }
  if (isObject(value)) {
    const items = Object.entries(value).map(([name, item]): [string, unknown] => [`${propertyKey(name)}: `, item]);
    return block(["{", "}"], items, place, codeOf);
  }
  return scalar(value);
}

/** The items on a line each. */
function block(
  brackets: readonly [string, string],
  items: readonly (readonly [prefix: string, value: unknown])[],
  { indent, tall = 0 }: TextPosition,
  codeOf: CodeOf,
): string {
  const inner = indent + 2;
  const lines = items.map(([prefix, value]) => {
    const place = { indent: inner, lead: inner + prefix.length, trail: 1, tall: Math.max(tall - 1, 0) };
    return `${" ".repeat(inner)}${prefix}${sourceText(value, place, codeOf)},\n`;
  });
  return `${brackets[0]}\n${lines.join("")}${" ".repeat(indent)}${brackets[1]}`;
}

/** A call whose last argument is opened on its line, or else with its arguments on a line each. */
function callText(operation: Operation, place: TextPosition, codeOf: CodeOf): string {
  const code = codeOf(operation);
  if (code !== undefined) return code;
  const [name, ...args] = operation.source;
  const last = args.at(-1);
  const head = args.slice(0, -1).map((arg) => oneLine(arg, 0, codeOf));
  const opens = isOpened(last) && !isObjectLike(last, args.at(-2)) && !head.includes(undefined);
  const start = `op.${name}(${head.map((arg) => `${arg}, `).join("")}`;
  if (opens && place.lead + start.length + 1 <= width) {
    // So long that it never fits on one line.
    const inside = { ...place, lead: width, tall: tallOf(name) };
    return `${start}${sourceText(last, inside, codeOf)})`;
  }
  return block(
    [`op.${name}(`, ")"],
    args.map((arg) => ["", arg] as const),
    { ...place, tall: 0 },
    codeOf,
  );
}

/** The value on one line; undefined when it takes several. */
function oneLine(value: unknown, tall: number, codeOf: CodeOf): string | undefined {
  if (isOperation(value)) {
    const code = codeOf(value);
    const [name, ...args] = value.source;
    if (code !== undefined) return code;
    return tallOf(name) > 0 ? undefined : joined(`op.${name}(`, args, ")", codeOf);
  }
  if (Array.isArray(value)) return isTallList(value) ? undefined : joined("[", value, "]", codeOf);
  if (!isObject(value)) return scalar(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  if (tall > 0) return undefined;
  const parts = entries.map(([name, item]) => {
    const text = oneLine(item, 0, codeOf);
    return text === undefined ? undefined : `${propertyKey(name)}: ${text}`;
  });
  return parts.includes(undefined) ? undefined : `{ ${parts.join(", ")} }`;
}

function joined(start: string, values: readonly unknown[], end: string, codeOf: CodeOf): string | undefined {
  const parts = values.map((value) => oneLine(value, 0, codeOf));
  return parts.includes(undefined) ? undefined : `${start}${parts.join(", ")}${end}`;
}

/** The parts of a table read best one below the other. */
function tallOf(name: string): number {
  return name === "createTable" ? 2 : 0;
}

/** A formatter never puts several objects with several keys on one line. */
function isTallList(list: readonly unknown[]): boolean {
  const size = (value: unknown): number =>
    Array.isArray(value) || !isObject(value) || isOperation(value) ? 0 : Object.keys(value).length;
  return list.length > 1 && list.every((value) => size(value) > 1);
}

function isOpened(value: unknown): boolean {
  return isObject(value) && !isOperation(value) && Object.keys(value).length > 0;
}

/**
 * True if both are lists or both are objects: then a formatter does not open the last argument on the line of the call.
 */
function isObjectLike(value: unknown, other: unknown): boolean {
  return isObject(other) && Array.isArray(value) === Array.isArray(other);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function scalar(value: unknown): string {
  if (typeof value === "string") return stringText(value);
  if (typeof value === "function") {
    throw new MigrationError(
      `a function cannot be written into a migration${value.name ? ` (${value.name})` : ""}: write op.run by hand`,
    );
  }
  return String(value);
}

/** In the quotes that need fewer escapes; text of several lines as a template. */
function stringText(text: string): string {
  if (text.includes("\n")) {
    return `\`${text.replace(/[\\`]|\$(?=\{)/g, "\\$&").replaceAll("\r", "\\r")}\``;
  }
  const quoted = JSON.stringify(text);
  if (text.split('"').length <= text.split("'").length) return quoted;
  return `'${quoted.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function propertyKey(name: string): string {
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringText(name).replace(/^`[\s\S]*`$/, JSON.stringify(name));
}
