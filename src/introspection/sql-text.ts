import { sqlTokens } from "../kit/sql-tokens.js";

/** An expression without the parentheses around all of it, however many there are. */
export function withoutParentheses(sql: string): string {
  let inner = sql.trim();
  while (isEnclosed(inner)) inner = inner.slice(1, -1).trim();
  return inner;
}

/** True if the last character closes the first parenthesis; those in strings and quoted names do not count. */
function isEnclosed(sql: string): boolean {
  let depth = 0;
  for (const { text, end } of sqlTokens(sql)) {
    if (text === "(") depth++;
    else if (text === ")") depth--;
    if (depth === 0) return end === sql.length && text === ")";
  }
  return false;
}
