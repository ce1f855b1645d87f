import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isPackageFile } from "../../kit/package-folder.js";
import type { ErrorDescription } from "../describe.js";

export interface StackFrame {
  /** The function; empty when it has no name. */
  readonly call: string;
  /** The path of the file, or its substitute (`node:internal/timers`, `<anonymous>`). */
  readonly file: string;
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The owner of the code. The page opens only the application's own frames. */
  readonly owner: "application" | "framework" | "dependency" | "node";
}

const maxFrames = 60;
const maxLineLength = 2000;

/** The frames of a stack as V8 writes it. */
export function stackFrames(error: ErrorDescription): StackFrame[] {
  if (error.stack === undefined) return [];
  const frames: StackFrame[] = [];
  for (const line of withoutMessage(error.stack, error.message).split("\n")) {
    const frame = parseFrame(line);
    if (frame) frames.push(frame);
    if (frames.length >= maxFrames) break;
  }
  return frames;
}

/** A stack begins with the message, in which lines may look like frames. */
function withoutMessage(stack: string, message: string): string {
  const at = message === "" ? -1 : stack.indexOf(message);
  return at === -1 ? stack : stack.slice(at + message.length);
}

const position = /^(.*?)(?::(\d+))?(?::(\d+))?$/;

/** `    at call (file:line:column)`, or without the call and its parentheses. */
function parseFrame(line: string): StackFrame | undefined {
  const text = line.trim();
  if (line.length > maxLineLength || !line.startsWith(" ") || !text.startsWith("at ")) return undefined;
  const opening = text.endsWith(")") ? text.lastIndexOf(" (") : -1;
  const call = opening === -1 ? "" : text.slice("at ".length, opening);
  const place = opening === -1 ? text.slice("at ".length) : text.slice(opening + 2, -1);
  const [, where = "", row, column] = position.exec(place.replace(/^async /, "")) ?? [];
  const file = filePath(where);
  return { call, file, line: number(row), column: number(column), owner: ownerOf(file) };
}

function filePath(where: string): string {
  if (!where.startsWith("file://")) return before(where, "?");
  try {
    return fileURLToPath(before(before(where, "?"), "#"));
  } catch {
    return where;
  }
}

function before(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at === -1 ? text : text.slice(0, at);
}

function number(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

function ownerOf(file: string): StackFrame["owner"] {
  if (file.startsWith("node:") || file.startsWith("internal/") || file === "native" || file.startsWith("<"))
    return "node";
  if (isPackageFile(file)) return "framework";
  return file.includes(`${sep}node_modules${sep}`) ? "dependency" : "application";
}
