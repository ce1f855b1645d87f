import type { Attributes, HeaderReader, Span, Tracer } from "../kit/tracer.js";

/** The headers of a trace as a table keeps them: `traceparent`, and `tracestate` and `baggage` if there are any. */
export type StoredTrace = Readonly<Record<string, unknown>>;

/** Names of OpenTelemetry's conventions for messages: a job or a saga is one from its caller to its worker. */
const conventions = { "messaging.system": "stoa" } as const;

/** The span of a caller that adds work to a table. Work that is done later is in the trace of this span. */
export function addingSpan(tracer: Tracer, operation: "enqueue" | "start", name: string): Span {
  const attributes = {
    ...conventions,
    "messaging.operation.name": operation,
    "messaging.operation.type": "send",
    "messaging.destination.name": name,
  };
  return tracer.start(`${operation} ${name}`, attributes, { kind: "producer" });
}

/**
 * The span of an attempt at work that was added before, as a child of the span that has added it. Work without a stored trace
 * begins one.
 */
export function attemptSpan(tracer: Tracer, title: string, trace: StoredTrace | null, attributes: Attributes): Span {
  const all = {
    ...conventions,
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    ...attributes,
  };
  return tracer.start(title, all, { kind: "consumer", from: readerOf(trace) });
}

/** Runs work within its span, and ends the span with it. `id` finds the id of work that was added in the result. */
export async function inSpan<T>(span: Span, run: () => Promise<T>, id?: (result: T) => string): Promise<T> {
  try {
    const result = await span.run(run);
    if (id !== undefined) span.set("messaging.message.id", id(result));
    span.end();
    return result;
  } catch (error) {
    span.end(error ?? new Error("failed without an error"));
    throw error;
  }
}

/** Reads the headers of a stored trace. */
export function readerOf(trace: StoredTrace | null): HeaderReader {
  return (name) => {
    const value = trace !== null && Object.hasOwn(trace, name) ? trace[name] : undefined;
    return typeof value === "string" ? value : undefined;
  };
}
