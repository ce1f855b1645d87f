import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder } from "../../../internal/package-folder.js";

/** Frames to look at: models and their relations have many of their own. */
const deepest = 50;

/** Folders of the framework: its sources, or its build. Made when first needed. */
let own: readonly string[] | null = null;

/** The file and line of the code that called the framework, relative to the current folder; null if it is not known. */
export function callerOf(): string | null {
  const limit = Error.stackTraceLimit;
  const trace: { stack?: string } = {};
  Error.stackTraceLimit = deepest;
  Error.captureStackTrace(trace, callerOf);
  const frames = String(trace.stack).split("\n");
  Error.stackTraceLimit = limit;
  for (const frame of frames) {
    const place = placeOf(frame);
    if (place !== null && isForeign(place)) return relative(place);
  }
  return null;
}

/** The file, line and column of a frame: `at f (file:///a/b.ts:1:2)`, `at async file:///a/b.ts:1:2`, `at /a/b.ts:1:2`. */
export function placeOf(frame: string): string | null {
  const text = frame.trim();
  if (!text.startsWith("at ")) return null;
  const open = text.lastIndexOf("(");
  const place = open !== -1 && text.endsWith(")") ? text.slice(open + 1, -1) : text.slice(text.lastIndexOf(" ") + 1);
  if (!/:\d+:\d+$/.test(place)) return null;
  return place.startsWith("file://") ? pathOf(place) : place;
}

function pathOf(url: string): string {
  const end = url.lastIndexOf(":", url.lastIndexOf(":") - 1);
  return fileURLToPath(url.slice(0, end)) + url.slice(end);
}

function isForeign(place: string): boolean {
  if (place.startsWith("node:") || place.includes(`${sep}node_modules${sep}`)) return false;
  own ??= ["src", "dist"].map((name) => packageFolder() + sep + name + sep);
  return !own.some((folder) => place.startsWith(folder));
}

/** Without the column: several statements of one line are one place. */
function relative(place: string): string {
  const folder = process.cwd() + sep;
  const short = place.startsWith(folder) ? place.slice(folder.length) : place;
  return short.slice(0, short.lastIndexOf(":"));
}
