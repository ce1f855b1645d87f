/** The code blocks of a page in one language. */
export function codeBlocks(markdown: string, language: string): string[] {
  const blocks = markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...blocks].filter(([, name]) => name === language).map(([, , code]) => code!.trim());
}

/** The code in the last column of those tables whose last column has this title. */
export function codeOfTables(markdown: string, title: string): string[] {
  const tables = markdown.matchAll(/^\|.*\|\n\|[ :|-]+\|\n((?:\|.*\|\n)*)/gm);
  return [...tables]
    .filter(([table]) => lastCell(table.split("\n")[0]!) === title)
    .flatMap(([, rows]) => rows!.trimEnd().split("\n").map(lastCell))
    .flatMap(codeSpans);
}

/** Code as it is compared: without spaces, comments, and the commas that come and go where a line is broken. */
export function withoutSpace(code: string): string {
  return code
    .replace(/(^|\s)\/\/ .*$/gm, "")
    .replace(/\s+/g, "")
    .replace(/,([)\]}])/g, "$1");
}

function lastCell(row: string): string {
  return row
    .split(/(?<!\\)\|/)
    .at(-2)!
    .trim();
}

function codeSpans(text: string): string[] {
  const spans = text.matchAll(/``(.+?)``(?!`)|`([^`]+)`/g);
  return [...spans].map(([, double, single]) => (double ?? single)!.trim());
}
