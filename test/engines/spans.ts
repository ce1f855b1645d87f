import type { Tracer } from "../../src/internal/tracer.js";

export interface RecordedSpan {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Undefined until the span has ended. */
  error: unknown;
}

/** A tracer that keeps its spans. */
export function recordingTracer(): { readonly tracer: Tracer; readonly spans: RecordedSpan[] } {
  const spans: RecordedSpan[] = [];
  const tracer: Tracer = {
    start(name, attributes) {
      const span: RecordedSpan = { name, attributes, error: undefined };
      spans.push(span);
      return {
        end(error) {
          span.error = error;
        },
      };
    },
  };
  return { tracer, spans };
}
