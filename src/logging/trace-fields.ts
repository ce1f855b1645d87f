import type { PlainFields } from "./plain.js";

let reader: (() => PlainFields | null) | null = null;

/** Sets the function that gives the ids of the current trace. Telemetry sets it, for all loggers of the process. */
export function setTraceFields(read: (() => PlainFields | null) | null): void {
  reader = read;
}

/** The ids of the trace that the caller works for; null without one. */
export function traceFields(): PlainFields | null {
  return reader === null ? null : reader();
}
