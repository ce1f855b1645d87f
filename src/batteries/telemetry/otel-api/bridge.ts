import type * as Api from "@opentelemetry/api";
import type { Logger } from "../../../kit/logger.js";
import type { Attributes, SpanKind } from "../../../kit/tracer.js";
import { type ContextSpan, type InstrumentationScope, traceHeaders } from "../trace/context.js";
import type { TelemetryTracer } from "../trace/tracer.js";
import { ApiContexts } from "./api-context.js";
import { linkOf, readTime } from "./api-span.js";

/** In the order of the interface's enumeration. */
const kinds: readonly SpanKind[] = ["internal", "server", "client", "producer", "consumer"];

/** The applications with telemetry; the last one makes the spans of code outside of traces. */
const tracers: TelemetryTracer[] = [];
let registered: typeof Api | null = null;

/**
 * Lets code that uses @opentelemetry/api make spans of ours: its current span is ours, and ours is its. Does nothing if
 * the package is not installed. Returns a function that ends it.
 */
export async function joinOpenTelemetryApi(tracer: TelemetryTracer, logger: Logger): Promise<() => void> {
  const api = await loadApi();
  if (api === null) return () => {};
  if (registered === null && !register(api)) {
    logger.warn("another OpenTelemetry SDK is registered: spans made through @opentelemetry/api go to that one");
    return () => {};
  }
  tracers.push(tracer);
  return () => {
    const at = tracers.indexOf(tracer);
    if (at >= 0) tracers.splice(at, 1);
    if (tracers.length > 0 || registered === null) return;
    for (const part of [registered.trace, registered.context, registered.propagation]) part.disable();
    registered = null;
  };
}

async function loadApi(): Promise<typeof Api | null> {
  try {
    return await import("@opentelemetry/api");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}

function register(api: typeof Api): boolean {
  const contexts = new ApiContexts(api, () => tracers.at(-1)!);
  if (!api.trace.setGlobalTracerProvider(new ApiTracerProvider(api, contexts))) return false;
  api.context.setGlobalContextManager(contexts);
  api.propagation.setGlobalPropagator(new ApiPropagator(api, contexts));
  registered = api;
  return true;
}

class ApiTracerProvider implements Api.TracerProvider {
  readonly #tracers = new Map<string, ApiTracer>();

  constructor(
    private readonly api: typeof Api,
    private readonly contexts: ApiContexts,
  ) {}

  getTracer(name: string, version = ""): Api.Tracer {
    const key = `${name}@${version}`;
    let tracer = this.#tracers.get(key);
    // One object for each library: spans of the same one stand together in a batch.
    if (tracer === undefined)
      this.#tracers.set(key, (tracer = new ApiTracer(this.api, this.contexts, { name, version })));
    return tracer;
  }
}

class ApiTracer implements Api.Tracer {
  constructor(
    private readonly api: typeof Api,
    private readonly contexts: ApiContexts,
    private readonly scope: InstrumentationScope,
  ) {}

  startSpan(name: string, options: Api.SpanOptions = {}, context: Api.Context = this.contexts.active()): Api.Span {
    const { span: current, baggage, quiet } = this.contexts.frameOf(context);
    const tracer = (current?.source as TelemetryTracer | undefined) ?? tracers.at(-1);
    if (quiet || tracer === undefined) return this.api.trace.wrapSpanContext(this.api.INVALID_SPAN_CONTEXT);
    const start = {
      name,
      kind: kinds[options.kind ?? 0] ?? "internal",
      attributes: options.attributes as Attributes | undefined,
      startedAt: readTime(options.startTime),
      scope: this.scope,
      links: options.links?.map(linkOf),
    };
    const parent: ContextSpan | null = options.root ? null : current;
    return this.contexts.apiSpan(tracer.begin(start, parent, baggage));
  }

  startActiveSpan<F extends (span: Api.Span) => ReturnType<F>>(name: string, ...given: unknown[]): ReturnType<F> {
    const work = given.at(-1) as F;
    const options = (given.length > 1 ? given[0] : {}) as Api.SpanOptions;
    const context = (given.length > 2 ? given[1] : this.contexts.active()) as Api.Context;
    const span = this.startSpan(name, options, context);
    return this.contexts.with(this.api.trace.setSpan(context, span), work as never, undefined, span as never);
  }
}

/** W3C Trace Context and Baggage, for code that passes traces on by itself. */
class ApiPropagator implements Api.TextMapPropagator {
  constructor(
    private readonly api: typeof Api,
    private readonly contexts: ApiContexts,
  ) {}

  inject(context: Api.Context, carrier: unknown, setter: Api.TextMapSetter): void {
    const { span, baggage, quiet } = this.contexts.frameOf(context);
    const values = baggage === null ? "" : baggage.header;
    const headers = span === null || quiet ? (values === "" ? {} : { baggage: values }) : traceHeaders(span, baggage);
    for (const [name, value] of Object.entries(headers)) setter.set(carrier, name, value);
  }

  extract(context: Api.Context, carrier: unknown, getter: Api.TextMapGetter): Api.Context {
    const tracer = tracers.at(-1);
    if (tracer === undefined) return context;
    const header = (name: string): string | undefined => {
      const value = getter.get(carrier, name);
      return Array.isArray(value) ? value.join(",") : value;
    };
    const { parent, baggage } = tracer.received({ header });
    const carried = baggage === null ? context : this.contexts.withBaggage(context, baggage);
    if (parent === null) return carried;
    const { traceId, spanId, flags, state } = parent;
    const text = state === null ? "" : state.text;
    return this.api.trace.setSpanContext(carried, {
      traceId,
      spanId,
      traceFlags: flags,
      isRemote: true,
      ...(text !== "" && { traceState: this.api.createTraceState(text) }),
    });
  }

  fields(): string[] {
    return ["traceparent", "tracestate", "baggage"];
  }
}
