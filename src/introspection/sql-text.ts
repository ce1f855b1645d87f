/** An expression without the parentheses around all of it, however many there are. */
export function withoutParentheses(sql: string): string {
  let inner = sql.trim();
  while (isEnclosed(inner)) inner = inner.slice(1, -1).trim();
  return inner;
}

/** True if the last character closes the first parenthesis; those in strings and quoted names do not count. */
function isEnclosed(sql: string): boolean {
  if (!sql.startsWith("(")) return false;
  let depth = 0;
  for (let at = 0; at < sql.length; at++) {
    const character = sql[at]!;
    if (character === "'" || character === '"') {
      // A doubled quote ends one string and begins the next. PostgreSQL doubles backslashes, so that none escapes a quote.
      at = sql.indexOf(character, at + 1);
      if (at === -1) return false;
    } else if (character === "(") {
      depth++;
    } else if (character === ")" && --depth === 0) {
      return at === sql.length - 1;
    }
  }
  return false;
}
