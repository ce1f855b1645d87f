/** A piece of SQL. Together the tokens of a text are the text. */
export interface SqlToken {
  /** `name` is quoted, `word` is not: a keyword or a name. `string` may have a prefix (`E'...'`) or dollar quotes. */
  readonly kind: "space" | "comment" | "string" | "name" | "word" | "number" | "parameter" | "mark";
  readonly text: string;
  /** The place after the last character. */
  readonly end: number;
}

const kinds = ["space", "comment", "string", "parameter", "name", "word", "number"] as const;

/**
 * The openings of the tokens, in the order of `kinds`; PostgreSQL counts each character beyond ASCII as a letter. The ends of
 * strings, names and comments are searched for: a pattern for them would use up the stack in a long text.
 */
const opening =
  /([ \t\n\r\f\v]+)|(--[^\n\r]*|\/\*)|((?:[eEbBxXnN]|[uU]&)?'|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)|(\$\d+)|(")|([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|((?:\d|\.\d)[\w.]*)|::|[\s\S]/y;

/**
 * The tokens of SQL as PostgreSQL reads it, with `standard_conforming_strings` on. Looks at each character once. A string, name
 * or comment without an end reaches to the end of the text.
 */
export function* sqlTokens(text: string): Generator<SqlToken> {
  for (let at = 0; at < text.length; ) {
    opening.lastIndex = at;
    const found = opening.exec(text)!;
    const kind = kinds[found.slice(1).findIndex((group) => group !== undefined)] ?? "mark";
    const end = endOf(text, found[0], at + found[0].length);
    yield { kind, text: text.slice(at, end), end };
    at = end;
  }
}

/** The end of the token that an opening begins. */
function endOf(text: string, open: string, from: number): number {
  if (open === "/*") return commentEnd(text, from);
  if (open === "e'" || open === "E'") return quoteEnd(text, /\\[\s\S]|''|'/g, from);
  if (open === '"') return quoteEnd(text, /""|"/g, from);
  if (open.endsWith("'")) return quoteEnd(text, /''|'/g, from);
  if (!open.startsWith("$") || !open.endsWith("$") || open.length === 1) return from;
  const end = text.indexOf(open, from);
  return end === -1 ? text.length : end + open.length;
}

/** The end after the first match that is one character: two quotes are one in the string, and so is an escape. */
function quoteEnd(text: string, quotes: RegExp, from: number): number {
  quotes.lastIndex = from;
  for (let found = quotes.exec(text); found !== null; found = quotes.exec(text)) {
    if (found[0].length === 1) return quotes.lastIndex;
  }
  return text.length;
}

/** Comments nest in PostgreSQL. */
function commentEnd(text: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from;
  let depth = 1;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return text.length;
}
