/**
 * The seam between the framework and telemetry. Engines, messages, jobs and sagas record their work as spans through it.
 * Telemetry implements it; without telemetry there is no tracer and nothing is recorded.
 */

/** A value of an attribute. Numbers that are whole are sent as integers. */
export type AttributeValue = string | number | boolean | readonly string[] | readonly number[] | readonly boolean[];

/** Attributes by name. Undefined values are left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/**
 * `client` calls another service and waits for it, `server` handles such a call. `producer` sends a message, `consumer`
 * handles one. `internal` is work inside the process.
 */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** Reads a header of a message or request by its name in lower case. */
export type HeaderReader = (name: string) => string | undefined;

export interface SpanOptions {
  /** Default "client": the call of an engine. */
  readonly kind?: SpanKind;
  /**
   * The headers of the message that causes the work. The parent of the span is read from `traceparent`. When not given,
   * the parent is the current span of the caller.
   */
  readonly from?: HeaderReader | undefined;
  /** The headers of further messages that the work belongs to: those of a batch. */
  readonly links?: readonly HeaderReader[];
}

export interface Tracer {
  /**
   * Starts a span. It must be called where the work begins, so that the span finds its parent in the asynchronous context
   * of the caller. The new span is not current: `span.run()` makes it so for a function.
   */
  start(name: string, attributes?: Attributes, options?: SpanOptions): Span;
}

/** One piece of work in a trace. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** False if the trace is not sampled: attributes are ignored and nothing is exported. */
  readonly recording: boolean;
  /** Sets an attribute. */
  set(name: string, value: AttributeValue | undefined): this;
  /** Adds a moment within the span. */
  event(name: string, attributes?: Attributes): this;
  /** Changes the name. */
  rename(name: string): this;
  /** Runs a function with this span as the current one: spans that start in it are its children. */
  run<T>(work: () => T): T;
  /** The headers that carry the trace to another service: `traceparent`, and `tracestate` and `baggage` if there are any. */
  headers(): Record<string, string>;
  /** Ends the span, once. An `error` other than null and undefined is recorded. */
  end(error?: unknown): void;
}

/** The method of a service that a route serves: option `rpc` of routes that features add. The span of the request shows it. */
export interface RpcRoute {
  /** `grpc`. */
  readonly system: string;
  /** The full name of the service. */
  readonly service: string;
  readonly method: string;
  /** The status of gRPC of a call that has ended with an error, or null, and with a status of HTTP. */
  statusOf(error: unknown, status: number): number;
}
