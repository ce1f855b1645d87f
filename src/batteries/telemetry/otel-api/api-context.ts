import type * as Api from "@opentelemetry/api";
import { Baggage } from "../propagation/baggage.js";
import { TraceState } from "../propagation/trace-state.js";
import { type ContextSpan, currentFrame, type Frame, runIn, type SpanSource } from "../trace/context.js";
import { RemoteSpan } from "../trace/passed-span.js";
import { ApiSpan } from "./api-span.js";

/** The key with which code of @opentelemetry/core switches recording off. */
const suppressed = Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** Translates between our frames and the contexts of @opentelemetry/api. */
export class ApiContexts implements Api.ContextManager {
  readonly #spans = new WeakMap<ContextSpan, ApiSpan>();
  readonly #baggage = new WeakMap<Api.Baggage, Baggage>();

  constructor(
    private readonly api: typeof Api,
    private readonly source: () => SpanSource,
  ) {}

  active(): Api.Context {
    const frame = currentFrame();
    if (frame === undefined) return this.api.ROOT_CONTEXT;
    return (frame.api ??= this.#contextOf(frame)) as Api.Context;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Api.Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return runIn(this.frameOf(context), () => work.apply(self, args));
  }

  /** Event emitters stay as they are: Node itself keeps the context of their listeners. */
  bind<T>(context: Api.Context, target: T): T {
    if (typeof target !== "function") return target;
    const frame = this.frameOf(context);
    const bound = function (this: unknown, ...args: unknown[]): unknown {
      return runIn(frame, () => target.apply(this, args) as unknown);
    };
    Object.defineProperty(bound, "length", { configurable: true, value: target.length });
    return bound as T;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }

  apiSpan(span: ContextSpan): ApiSpan {
    let face = this.#spans.get(span);
    if (face === undefined) this.#spans.set(span, (face = new ApiSpan(this.api, span)));
    return face;
  }

  frameOf(context: Api.Context): Frame {
    const baggage = this.baggageOf(context);
    return {
      span: this.spanOf(context, baggage),
      baggage,
      quiet: context.getValue(suppressed) === true,
      api: context,
    };
  }

  /** The span of a context; null if it has none. */
  spanOf(context: Api.Context, baggage: Baggage | null): ContextSpan | null {
    const span = this.api.trace.getSpan(context);
    if (span === undefined) return null;
    if (span instanceof ApiSpan) return span.span;
    const given = span.spanContext();
    if (!this.api.isSpanContextValid(given)) return null;
    const { traceId, spanId, traceFlags, traceState } = given;
    const state = traceState === undefined ? null : new TraceState(traceState.serialize());
    return new RemoteSpan(this.source(), { traceId, spanId, flags: traceFlags & 3, state }, baggage);
  }

  baggageOf(context: Api.Context): Baggage | null {
    const given = this.api.propagation.getBaggage(context);
    if (given === undefined) return null;
    let baggage = this.#baggage.get(given);
    if (baggage === undefined) {
      const entries = given.getAllEntries().map(([name, { value, metadata }]) => {
        return [name, value, metadata?.toString() ?? ""] as const;
      });
      this.#baggage.set(given, (baggage = Baggage.of(entries)));
    }
    return baggage;
  }

  /** A context with this baggage. */
  withBaggage(context: Api.Context, baggage: Baggage): Api.Context {
    const { propagation, baggageEntryMetadataFromString } = this.api;
    const entries = baggage.entries().map(([name, value, properties]) => {
      const metadata = properties === "" ? {} : { metadata: baggageEntryMetadataFromString(properties.slice(1)) };
      return [name, { value, ...metadata }] as const;
    });
    const made = propagation.createBaggage(Object.fromEntries(entries));
    this.#baggage.set(made, baggage);
    return propagation.setBaggage(context, made);
  }

  #contextOf({ span, baggage, quiet }: Frame): Api.Context {
    let context = this.api.ROOT_CONTEXT;
    if (span !== null) context = this.api.trace.setSpan(context, this.apiSpan(span));
    if (baggage !== null) context = this.withBaggage(context, baggage);
    return quiet ? context.setValue(suppressed, true) : context;
  }
}
