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

/** A line comment ends with its line, or with the text. */
export function lineEnd(text: string, start: number): number {
  const end = /[\n\r]/g;
  end.lastIndex = start;
  return end.exec(text) === null ? text.length : end.lastIndex;
}

/**
 * The text with a space for each comment, and with empty strings. Looks at each character once. Names in `"` and strings in
 * `$$`, which may be the code of functions, stay as they are.
 */
export function withoutCommentsAndStrings(text: string): string {
  let kept = "";
  let from = 0;
  const mark = /'|"|--|\/\*|\$(?:[A-Za-z_]\w*)?\$/g;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const { index } = found;
    if (found[0].startsWith("$") && /[\w$]/.test(text.charAt(index - 1))) {
      // Part of a name.
      mark.lastIndex = index + 1;
      continue;
    }
    const end = endOf(found[0], text, index);
    if (found[0] !== '"' && !found[0].startsWith("$")) {
      kept += `${text.slice(from, index)}${found[0] === "'" ? "''" : " "}`;
      from = end;
    }
    mark.lastIndex = end;
  }
  return kept + text.slice(from);
}

function endOf(mark: string, text: string, start: number): number {
  if (mark === "/*") return commentEnd(text, start);
  if (mark === "--") return lineEnd(text, start);
  if (mark === "'" && /(?<![\w$])e$/i.test(text.slice(Math.max(0, start - 2), start)))
    return escapeStringEnd(text, start);
  const end = text.indexOf(mark, start + mark.length);
  return end === -1 ? text.length : end + mark.length;
}

/** The end of `E'...'`, in which a backslash escapes the next character, and two quotes are one. */
function escapeStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "'" && text[at + 1] === "'") at++;
    else if (text[at] === "'") return at + 1;
  }
  return text.length;
}
