import { sep } from "node:path";
import { isPackageFile, placeOf } from "../../../kit/package-folder.js";

/** Frames to look at: models and their relations have many themselves. */
const deepest = 50;

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

function isForeign(place: string): boolean {
  if (place.startsWith("node:") || place.includes(`${sep}node_modules${sep}`)) return false;
  return !isPackageFile(place);
}

/** Without the column: several statements of one line are one place. */
function relative(place: string): string {
  const folder = process.cwd() + sep;
  const short = place.startsWith(folder) ? place.slice(folder.length) : place;
  return short.slice(0, short.lastIndexOf(":"));
}
