/** Comments and strings in the text of a statement. */

/** Comments nest in PostgreSQL. One without an end reaches to the end of the text. */
export function commentEnd(text: string, start: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start;
  let depth = 0;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return text.length;
}

/**
 * The text with a space for each comment, and with empty strings. Looks at each character once. The code of functions in
 * `$$` is treated like the rest.
 */
export function withoutCommentsAndStrings(text: string): string {
  let kept = "";
  let from = 0;
  const mark = /'|"|--|\/\*/g;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const { index } = found;
    const end = endOf(found[0], text, index);
    if (found[0] !== '"') {
      kept += `${text.slice(from, index)}${found[0] === "'" ? "''" : " "}`;
      from = end;
    }
    mark.lastIndex = end;
  }
  return kept + text.slice(from);
}

function endOf(mark: string, text: string, start: number): number {
  if (mark === "/*") return commentEnd(text, start);
  if (mark === "'" && /e/i.test(text.charAt(start - 1))) return escapeStringEnd(text, start);
  const end = text.indexOf(mark === "--" ? "\n" : mark, start + 1);
  return end === -1 ? text.length : end + 1;
}

/** The end of `E'...'`, in which a backslash escapes the next character. */
function escapeStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "'") return at + 1;
  }
  return text.length;
}
