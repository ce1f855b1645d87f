/**
 * Finds the columns in the SQL of checks, expressions and conditions. It distinguishes strings, comments, quoted names,
 * functions and casts, which is all that such expressions hold; it is no parser.
 */

import { type SqlToken, sqlTokens } from "../../kit/sql-tokens.js";
import { literal, quote } from "../../orm/identifiers.js";
import { reservedWords } from "../../orm/schema/keywords.js";
import { typeName } from "../../orm/schema/type-names.js";

/** True if an expression mentions a column. */
export function mentions(sql: string | undefined, column: string): boolean {
  return sql !== undefined && [...sqlTokens(sql)].some((token, index, all) => isColumn(token, index, all, column));
}

/** The expression after a column was renamed. */
export function renameColumnIn(sql: string, from: string, to: string): string {
  return [...sqlTokens(sql)]
    .map((token, index, all) => {
      if (!isColumn(token, index, all, from)) return token.text;
      return token.kind === "name" || !/^[a-z_][a-z0-9_]*$/.test(to) || reservedWords.has(to) ? quote(to) : to;
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
  return sql !== undefined && [...sqlTokens(sql)].some((token) => token.text === literal(text));
}

/** The expression with one whole string literal replaced by another. */
export function renameTextIn(sql: string, from: string, to: string): string {
  return [...sqlTokens(sql)].map(({ text }) => (text === literal(from) ? literal(to) : text)).join("");
}

function isColumn(token: SqlToken, index: number, all: readonly SqlToken[], column: string): boolean {
  const quoted = token.text === quote(column);
  if (!quoted && (token.text.toLowerCase() !== column || reservedWords.has(column))) return false;
  const dot = neighbour(all, index, -1);
  const before = all[dot]?.text ?? "";
  if (before === "::" || /^(as|collate)$/i.test(before)) return false;
  // `(value).part` is a part of a composite value, `books.year` is the column.
  if (before === "." && all[neighbour(all, dot, -1)]?.text === ")") return false;
  if (quoted) return true;
  const after = all[neighbour(all, index, 1)];
  // A function, or a type in front of a literal: `date '2024-02-29'`.
  return after?.text !== "(" && after?.kind !== "string";
}

/** The index of the next token that is neither space nor comment. */
function neighbour(tokens: readonly SqlToken[], from: number, step: 1 | -1): number {
  let index = from + step;
  while (tokens[index]?.kind === "space" || tokens[index]?.kind === "comment") index += step;
  return index;
}
