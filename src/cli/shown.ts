/** Lines of a table; its columns are as wide as their widest cell. Without colours: the same in a pipe. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const table = rows.map((row) => row.map(oneLine));
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

/** JSON for a terminal: also without the control characters that JSON leaves as they are. */
export function shownJson(value: unknown): string {
  const escaped = (control: string) => `\\u00${control.charCodeAt(0).toString(16)}`;
  return JSON.stringify(value, null, 2).replace(/[\u007f-\u009f]/g, escaped);
}

/** Texts of other programs must not steer the terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}
