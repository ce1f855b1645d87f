import { readFileSync, realpathSync, statSync } from "node:fs";
import { sep } from "node:path";

export interface SourceLine {
  readonly number: number;
  readonly text: string;
}

const around = 6;
const maxFileSize = 2 * 1024 * 1024;
const maxLineLength = 400;
const sourceFile = /\.[cm]?[jt]sx?$/;

/** The lines of a source file around `line`; null for anything but code below `root`. */
export function sourceExcerpt(file: string, line: number, root = process.cwd()): SourceLine[] | null {
  const text = readSource(file, root);
  if (text === null) return null;
  const lines = text.split(/\r?\n/);
  if (line < 1 || line > lines.length) return null;
  const first = Math.max(1, line - around);
  return lines.slice(first - 1, line + around).map((text, index) => ({ number: first + index, text: cut(text) }));
}

function readSource(file: string, root: string): string | null {
  try {
    // Links are followed first: the real path of the file counts, not its name.
    const real = realpathSync(file);
    const folder = realpathSync(root);
    if (!real.startsWith(folder.endsWith(sep) ? folder : folder + sep) || !sourceFile.test(real)) return null;
    const stat = statSync(real);
    return stat.isFile() && stat.size <= maxFileSize ? readFileSync(real, "utf8") : null;
  } catch {
    return null;
  }
}

function cut(text: string): string {
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text;
}
