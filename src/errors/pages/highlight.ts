import { escapeHtml } from "../../kit/pages/escape-html.js";

const words: ReadonlySet<string> = new Set(
  (
    "as async await break case catch class const continue default delete do else export extends false finally for from " +
    "function if import in instanceof interface let new null of return static super switch this throw true try type " +
    "typeof undefined using var void while yield"
  ).split(" "),
);

/** A comment, a text, a name or a number. A text that does not end on its line goes to the end of it. */
const token = /(\/\/.*)|("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?)|([A-Za-z_$][\w$]*)|(\d[\w.]*)/g;

/** One line of TypeScript or JavaScript as HTML, with its tokens marked for colours. */
export function highlight(line: string): string {
  let html = "";
  let end = 0;
  for (const { 0: found, 1: comment, 2: text, 3: name, index } of line.matchAll(token)) {
    const kind = comment ? "comment" : text ? "text" : name === undefined ? "number" : words.has(name) ? "word" : null;
    if (kind === null) continue;
    html += `${escapeHtml(line.slice(end, index))}<span class="${kind}">${escapeHtml(found)}</span>`;
    end = index + found.length;
  }
  return html + escapeHtml(line.slice(end));
}
