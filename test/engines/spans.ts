import type { Attributes, Span, Tracer } from "../../src/kit/tracer.js";

export interface RecordedSpan {
  readonly name: string;
  readonly attributes: Attributes;
  /** Undefined until the span has ended. */
  error: unknown;
}

/** A tracer that keeps its spans. */
export function recordingTracer(): { readonly tracer: Tracer; readonly spans: RecordedSpan[] } {
  const spans: RecordedSpan[] = [];
  const tracer: Tracer = {
    start(name, given = {}) {
      const attributes: Record<string, Attributes[string]> = { ...given };
      const recorded: RecordedSpan = { name, attributes, error: undefined };
      spans.push(recorded);
      const span: Span = {
        traceId: "0af7651916cd43dd8448eb211c80319c",
        spanId: "b7ad6b7169203331",
        recording: true,
        set(key, value) {
          attributes[key] = value;
          return span;
        },
        event: () => span,
        rename: () => span,
        run: (work) => work(),
        headers: () => ({}),
        end(error) {
          recorded.error = error;
        },
      };
      return span;
    },
  };
  return { tracer, spans };
}
