import type { Attributes, Span } from "../../../kit/tracer.js";
import type { AppTracer } from "./app-tracer.js";

/** The span of code that no telemetry watches. */
export const noSpan: Span = {
  traceId: "0".repeat(32),
  spanId: "0".repeat(16),
  recording: false,
  set: () => noSpan,
  event: () => noSpan,
  rename: () => noSpan,
  run: (work) => work(),
  headers: () => ({}),
  end() {},
};

/** `app.tracer` where telemetry is not enabled. */
export const noTracer: AppTracer = {
  current: null,
  baggage: {},
  start: () => noSpan,
  span: <T>(_name: string, ...given: [Attributes | ((span: Span) => T), ((span: Span) => T)?]): T =>
    (given[1] ?? (given[0] as (span: Span) => T))(noSpan),
  withBaggage: (_values, work) => work(),
  flush: () => Promise.resolve(),
};
