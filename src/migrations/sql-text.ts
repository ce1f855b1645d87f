/**
 * Finds the columns in the SQL of checks, expressions and conditions. It distinguishes strings, comments, quoted names,
 * functions and casts, which is all that such expressions hold; it is no parser.
 */

import { literal, quote } from "../orm/identifiers.js";
import { reservedWords } from "../orm/schema/keywords.js";
import { typeName } from "../orm/schema/type-names.js";

/** True if an expression mentions a column. */
export function mentions(sql: string | undefined, column: string): boolean {
  return sql !== undefined && tokensOf(sql).some((token, index, all) => isColumn(token, index, all, column));
}

/** The expression after a column was renamed. */
export function renameColumnIn(sql: string, from: string, to: string): string {
  return tokensOf(sql)
    .map((token, index, all) => {
      if (!isColumn(token, index, all, from)) return token;
      return token.startsWith('"') || !/^[a-z_][a-z0-9_]*$/.test(to) || reservedWords.has(to) ? quote(to) : to;
    })
    .join("");
}

/** The expression after a type was renamed: casts to it follow. */
export function renameTypeIn(sql: string, from: string, to: string): string {
  const spellings = [typeName(from), from.split(".").map(quote).join(".")].map((text) =>
    text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
  );
  return sql.replace(new RegExp(`::\\s*(?:${spellings.join("|")})(?![\\w$".])`, "g"), () => `::${typeName(to)}`);
}

/** True if an expression contains a value as a whole string literal. */
export function holdsText(sql: string | undefined, text: string): boolean {
  return sql !== undefined && tokensOf(sql).includes(literal(text));
}

/** The expression with one whole string literal replaced by another. */
export function renameTextIn(sql: string, from: string, to: string): string {
  return tokensOf(sql)
    .map((token) => (token === literal(from) ? literal(to) : token))
    .join("");
}

const tokenPattern =
  /[eE]'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{N}_$]*|::|\s+|[\s\S]/gu;

function tokensOf(sql: string): string[] {
  return sql.match(tokenPattern) ?? [];
}

function isColumn(token: string, index: number, all: readonly string[], column: string): boolean {
  const quoted = token === quote(column);
  if (!quoted && (token.toLowerCase() !== column || reservedWords.has(column))) return false;
  const before = neighbour(all, index, -1);
  if (before === "::" || /^(as|collate)$/i.test(before)) return false;
  // `(value).part` is a part of a composite value, `books.year` is the column.
  if (before === "." && neighbour(all, all.lastIndexOf(".", index), -1) === ")") return false;
  if (quoted) return true;
  const after = neighbour(all, index, 1);
  // A function, or a type in front of a literal: `date '2024-02-29'`.
  return after !== "(" && !after.startsWith("'");
}

function neighbour(tokens: readonly string[], from: number, step: 1 | -1): string {
  let index = from + step;
  while (index >= 0 && index < tokens.length && /^(\s|--|\/\*)/.test(tokens[index]!)) index += step;
  return tokens[index] ?? "";
}
