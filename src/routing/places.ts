import { placeOf } from "../kit/package-folder.js";

/** A place in the source: `/app/src/books.ts:12:5`. */
export type Place = () => string | null;

/** The place of the call of a function. */
export function placeOfCall(called: (...args: never[]) => unknown): Place {
  const holder: { stack?: string } = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, called);
  Error.stackTraceLimit = stackTraceLimit;
  // The trace is written when it is first read: most places are never asked for.
  return () => placeOf(String(holder.stack).split("\n").at(-1)!);
}
