/**
 * Records the calls of engines as spans. Telemetry implements it; without it nothing is recorded. `start` is called where
 * the call begins, so that the span finds its parent in the asynchronous context of the caller.
 */
export interface Tracer {
  start(name: string, attributes: Readonly<Record<string, string | number>>): Span;
}

export interface Span {
  /** Ends the span; `error` is null if the call has succeeded. */
  end(error: unknown): void;
}
