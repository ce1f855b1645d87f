import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, AttributeValue, Span, SpanKind } from "../../../kit/tracer.js";
import type { Baggage } from "../propagation/baggage.js";
import type { TraceState } from "../propagation/trace-state.js";
import { type TraceParent, writeTraceParent } from "../propagation/traceparent.js";

/** The trace that the code of the moment works for. A span is the frame of the code that it runs. */
export interface Frame {
  /** Null where there is baggage but no trace yet. */
  readonly span: ContextSpan | null;
  readonly baggage: Baggage | null;
  /** True if nothing is recorded for the code, and no trace begins. */
  readonly quiet: boolean;
  /** The same as a context of @opentelemetry/api, once it was asked for. */
  api: unknown;
}

/** The library that made a span. */
export interface InstrumentationScope {
  readonly name: string;
  readonly version: string;
}

/** Everything about a span that is known when it starts. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes | undefined;
  /** The moment on the monotonic clock; now when not given. */
  readonly startedAt?: number | undefined;
  readonly scope?: InstrumentationScope | undefined;
  readonly links?: readonly SpanLink[] | undefined;
}

export interface SpanLink extends TraceParent {
  readonly state: string;
  readonly attributes: readonly (readonly [name: string, value: AttributeValue])[];
}

/** The span in another process that causes the work. */
export interface RemoteParent extends TraceParent {
  readonly state: TraceState | null;
}

/** Makes the spans of one application. */
export interface SpanSource {
  /** Starts a span below another one, below one in another process, or, for null, a new trace. */
  begin(start: SpanStart, parent: ContextSpan | RemoteParent | null, baggage: Baggage | null): ContextSpan;
}

const storage = new AsyncLocalStorage<Frame>();

export function currentFrame(): Frame | undefined {
  return storage.getStore();
}

/** Runs a function for a trace. The further arguments are those of the function: they save a closure for each request. */
export function runIn<T, Args extends unknown[]>(frame: Frame, work: (...args: Args) => T, ...args: Args): T {
  return storage.run(frame, work, ...args);
}

/** The frame of code that is never recorded. */
export const quietFrame: Frame = { span: null, baggage: null, quiet: true, api: null };

/** The ids of a span and the way in which it is passed on; subclasses record it, or not. */
export abstract class ContextSpan implements Span, Frame {
  readonly quiet: boolean = false;
  api: unknown = null;

  constructor(
    readonly source: SpanSource,
    readonly traceId: string,
    readonly flags: number,
    readonly state: TraceState | null,
    readonly baggage: Baggage | null,
  ) {}

  /** True if it stands for a span of another process: whether its children are recorded is decided here. */
  get remote(): boolean {
    return false;
  }

  abstract readonly spanId: string;
  abstract readonly recording: boolean;
  abstract set(name: string, value: AttributeValue | undefined): this;
  abstract event(name: string, attributes?: Attributes): this;
  abstract rename(name: string): this;
  abstract end(error?: unknown): void;

  get span(): this {
    return this;
  }

  run<T>(work: () => T): T {
    const frame = storage.getStore();
    // The baggage may have been changed since the span was started.
    if (frame === undefined || frame.baggage === this.baggage) return storage.run(this, work);
    return storage.run({ span: this, baggage: frame.baggage, quiet: false, api: null }, work);
  }

  headers(): Record<string, string> {
    return traceHeaders(this, storage.getStore()?.baggage ?? this.baggage);
  }
}

export function traceHeaders(span: ContextSpan, baggage: Baggage | null): Record<string, string> {
  const headers: Record<string, string> = { traceparent: writeTraceParent(span.traceId, span.spanId, span.flags) };
  const state = span.state === null ? "" : span.state.text;
  if (state !== "") headers["tracestate"] = state;
  const values = baggage === null ? "" : baggage.header;
  if (values !== "") headers["baggage"] = values;
  return headers;
}
