import type { Attributes, Span, Tracer } from "../../../kit/tracer.js";

/** `app.tracer`: spans of the application's own. Without `enableTelemetry()` it runs the work and records nothing. */
export interface AppTracer extends Tracer {
  /** The current span; null outside of traces. */
  readonly current: Span | null;
  /** Runs a function as its own span. The span ends with the function, or with the promise that it returns. */
  span<T>(name: string, work: (span: Span) => T): T;
  span<T>(name: string, attributes: Attributes, work: (span: Span) => T): T;
  /** Values that travel with the trace from service to service. */
  readonly baggage: Readonly<Record<string, string>>;
  /** Runs a function with further values in the baggage; undefined removes one. */
  withBaggage<T>(values: Readonly<Record<string, string | undefined>>, work: () => T): T;
  /** Exports everything that waits. Resolves when it has been sent, or could not be sent. */
  flush(): Promise<void>;
}
