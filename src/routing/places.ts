import { placeOf } from "../kit/stack-place.js";

let kept = false;

/** Routes that are registered from now on know their place in the source. A stack trace for each costs too much at every start. */
export function keepPlaces(): void {
  kept = true;
}

/** The file and the line of the call of a function; undefined unless places are kept. */
export function placeOfCall(called: (...args: never[]) => unknown): string | undefined {
  if (!kept) return undefined;
  const holder: { stack?: string } = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, called);
  // The trace is written when it is first read: with the source maps of that moment.
  const frame = holder.stack?.split("\n").at(-1) ?? "";
  Error.stackTraceLimit = stackTraceLimit;
  // Without the column.
  return placeOf(frame)?.replace(/:\d+$/, "");
}
