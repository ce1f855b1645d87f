import { AsyncLocalStorage } from "node:async_hooks";
import type { Span, Tracer } from "../../internal/tracer.js";

const contextHeaders = ["traceparent", "tracestate", "baggage"] as const;

/** The headers of the message that is being handled, where no tracer keeps the current span. */
const handled = new AsyncLocalStorage<Readonly<Record<string, string>>>();

/**
 * Adds the trace context to the headers of a message, unless they have one: that of the span that publishes it. Without a
 * span, a message that is published while another is handled gets the context of that one, so that a trace does not end
 * here.
 */
export function injectTrace(headers: Record<string, string>, span: Span | null): void {
  if (headers.traceparent !== undefined) return;
  const context = span?.headers() ?? handled.getStore();
  if (context === undefined) return;
  for (const name of contextHeaders) if (context[name] !== undefined) headers[name] = context[name];
}

/** The span of a message that is being published. */
export function publishSpan(tracer: Tracer | null, topic: string, count: number): Span | null {
  if (tracer === null) return null;
  const attributes = { "messaging.destination.name": topic, "messaging.batch.message_count": count };
  return tracer.start(`${topic} publish`, attributes, { kind: "producer" });
}

/** Runs the handling of a message in the trace that its headers name. */
export function inTraceOf<T>(
  headers: Readonly<Record<string, string>>,
  tracer: Tracer | null,
  named: { readonly name: string; readonly attributes: Readonly<Record<string, string | number>> },
  run: (span: Span | null) => T,
): T {
  if (tracer === null) return handled.run(headers, () => run(null));
  const span = tracer.start(named.name, named.attributes, { kind: "consumer", from: (name) => headers[name] });
  return span.run(() => run(span));
}
