import { AsyncLocalStorage } from "node:async_hooks";
import type { Span, Tracer } from "../../internal/tracer.js";

/** Members that a tracer may have beside `start`: they carry the W3C trace context from process to process. */
export interface CarryingTracer extends Tracer {
  /** Writes `traceparent` and `tracestate` of the current span. */
  inject?(carrier: Record<string, string>): void;
  /** Runs a function as the child of the span that the carrier names. */
  extract?<T>(carrier: Readonly<Record<string, string>>, run: () => T): T;
}

const contextHeaders = ["traceparent", "tracestate"] as const;

/** The headers of the message that is being handled. */
const handled = new AsyncLocalStorage<Readonly<Record<string, string>>>();

/**
 * Adds the trace context to the headers of a message, unless they have one. Without a tracer a message that is published
 * while another is handled gets the context of that one, so that a trace does not end here.
 */
export function injectTrace(headers: Record<string, string>, tracer: CarryingTracer | null): void {
  if (headers.traceparent !== undefined) return;
  if (tracer?.inject !== undefined) {
    tracer.inject(headers);
    return;
  }
  const current = handled.getStore();
  if (current === undefined) return;
  for (const name of contextHeaders) if (current[name] !== undefined) headers[name] = current[name];
}

/** Runs the handling of a message in the trace that its headers name. */
export function inTraceOf<T>(
  headers: Readonly<Record<string, string>>,
  tracer: CarryingTracer | null,
  span: { readonly name: string; readonly attributes: Readonly<Record<string, string | number>> },
  run: (span: Span | null) => T,
): T {
  return handled.run(headers, () => {
    if (tracer === null) return run(null);
    const begin = () => run(tracer.start(span.name, span.attributes));
    return tracer.extract === undefined ? begin() : tracer.extract(headers, begin);
  });
}
