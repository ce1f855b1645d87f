import { asPromise, isPromise } from "../../../kit/is-promise.js";
import type { Attributes, HeaderReader, Span, SpanOptions } from "../../../kit/tracer.js";
import { Baggage } from "../propagation/baggage.js";
import { TraceState } from "../propagation/trace-state.js";
import { randomFlag, readTraceParent, sampledFlag } from "../propagation/traceparent.js";
import type { AppTracer } from "./app-tracer.js";
import {
  ContextSpan,
  currentFrame,
  type InstrumentationScope,
  type RemoteParent,
  runIn,
  type SpanLink,
  type SpanStart,
} from "./context.js";
import { newTraceId } from "./ids.js";
import { PassedSpan } from "./passed-span.js";
import { RecordedSpan, type SpanLimits, type SpanSink, type TraceOf } from "./recorded-span.js";
import type { Sampler } from "./sampler.js";

/** The formats of other services that are read and written. */
export interface Propagation {
  readonly traceContext: boolean;
  readonly baggage: boolean;
}

export interface TracerParts {
  readonly sampler: Sampler;
  readonly limits: SpanLimits;
  readonly propagation: Propagation;
  readonly scope: InstrumentationScope;
  /** Takes ended spans; null if spans are not exported. */
  readonly record: ((span: RecordedSpan) => void) | null;
  readonly flush: () => Promise<void>;
}

/** Makes the spans of one application. */
export class TelemetryTracer implements AppTracer, SpanSink {
  readonly limits: SpanLimits;
  readonly scope: InstrumentationScope;
  readonly propagation: Propagation;
  readonly record: (span: RecordedSpan) => void;
  readonly flush: () => Promise<void>;
  readonly #sampler: Sampler;
  readonly #records: boolean;

  constructor(parts: TracerParts) {
    this.limits = parts.limits;
    this.scope = parts.scope;
    this.propagation = parts.propagation;
    this.record = parts.record ?? (() => {});
    this.flush = parts.flush;
    this.#records = parts.record !== null;
    this.#sampler = parts.sampler;
  }

  get current(): Span | null {
    return currentFrame()?.span ?? null;
  }

  get baggage(): Readonly<Record<string, string>> {
    const entries = currentFrame()?.baggage?.entries() ?? [];
    return Object.fromEntries(entries.map(([name, value]) => [name, value]));
  }

  withBaggage<T>(values: Readonly<Record<string, string | undefined>>, work: () => T): T {
    const frame = currentFrame();
    const baggage = Baggage.with(frame?.baggage ?? null, values);
    return runIn({ span: frame?.span ?? null, baggage, quiet: frame?.quiet ?? false, api: null }, work);
  }

  start(name: string, attributes?: Attributes, { kind = "client", from, links }: SpanOptions = {}): ContextSpan {
    const frame = currentFrame();
    if (from !== undefined) {
      const { parent, baggage } = this.received({ header: from });
      return this.begin({ name, kind, attributes, links: this.#links(links) }, parent, baggage);
    }
    const parent = frame?.span ?? null;
    // Nothing would be recorded, and nothing below it: the caller's own span does as well.
    if (parent !== null && !parent.recording && !parent.remote && parent.baggage === frame?.baggage) return parent;
    return this.begin({ name, kind, attributes, links: this.#links(links) }, parent, frame?.baggage ?? null);
  }

  span<T>(name: string, work: (span: Span) => T): T;
  span<T>(name: string, attributes: Attributes, work: (span: Span) => T): T;
  span<T>(name: string, ...given: [Attributes | ((span: Span) => T), ((span: Span) => T)?]): T {
    const [first, second] = given;
    const work = second ?? (first as (span: Span) => T);
    const span = this.start(name, second === undefined ? undefined : (first as Attributes), { kind: "internal" });
    const owned = span !== currentFrame()?.span;
    return span.run(() => {
      try {
        const result = work(span);
        if (!owned) return result;
        if (!isPromise(result)) {
          span.end();
          return result;
        }
        return asPromise(result).then(
          (value) => {
            span.end();
            return value;
          },
          (error: unknown) => {
            span.end(error ?? new Error("rejected without a reason"));
            throw error;
          },
        ) as T;
      } catch (error) {
        if (owned) span.end(error ?? new Error("thrown without a reason"));
        throw error;
      }
    });
  }

  /** `type` is the class of the span, if it is recorded. */
  begin<Start extends SpanStart>(
    start: Start,
    parent: ContextSpan | RemoteParent | null,
    baggage: Baggage | null,
    type: SpanType<Start> = RecordedSpan,
  ): ContextSpan {
    if (parent === null) {
      if (currentFrame()?.quiet) return new PassedSpan(this, newTraceId(), randomFlag, null, baggage);
      const traceId = newTraceId();
      const flags = this.#sampler.samples(null, traceId) ? sampledFlag | randomFlag : randomFlag;
      return this.#make(start, { traceId, flags, state: null }, null, false, baggage, type);
    }
    const { traceId, flags, state } = parent;
    if (parent instanceof ContextSpan && !parent.remote) {
      // The decision was made for the first span of the trace in this process.
      if (!parent.recording) return new PassedSpan(this, traceId, flags, state, baggage);
      return this.#make(start, parent, parent.spanId, false, baggage, type);
    }
    const sampled = this.#sampler.samples((flags & sampledFlag) !== 0, traceId) ? sampledFlag : 0;
    const trace = { traceId, flags: (flags & randomFlag) | sampled, state };
    return this.#make(start, trace, parent.spanId, true, baggage, type);
  }

  /** The parent and the baggage in the headers of a message or a request. */
  received(carrier: Carrier): Received {
    const { propagation } = this;
    const given = propagation.traceContext ? carrier.header("traceparent") : undefined;
    const values = propagation.baggage ? carrier.header("baggage") : undefined;
    if (given === undefined && values === undefined) return nothing;
    const read = given === undefined ? null : readTraceParent(given);
    const baggage = values === undefined || values === "" ? null : Baggage.received(values);
    if (read === null) return { parent: null, baggage };
    const state = carrier.header("tracestate");
    const { traceId, spanId, flags } = read;
    return { parent: { traceId, spanId, flags, state: state === undefined ? null : new TraceState(state) }, baggage };
  }

  #links(readers: readonly HeaderReader[] | undefined): SpanLink[] | undefined {
    return readers?.flatMap((reader) => {
      const { parent } = this.received({ header: reader });
      if (parent === null) return [];
      const { traceId, spanId, flags, state } = parent;
      return [{ traceId, spanId, flags, state: state?.text ?? "", attributes: [] }];
    });
  }

  #make<Start extends SpanStart>(
    start: Start,
    trace: TraceOf,
    parentId: string | null,
    remote: boolean,
    baggage: Baggage | null,
    type: SpanType<Start>,
  ): ContextSpan {
    if (this.#records && (trace.flags & sampledFlag) !== 0) {
      return new type(this, start, trace, parentId, remote, baggage);
    }
    return new PassedSpan(this, trace.traceId, trace.flags, trace.state, baggage);
  }
}

/** Headers of a message or a request. */
export interface Carrier {
  /** The value of a header by its name in lower case. */
  header(name: string): string | undefined;
}

export interface Received {
  readonly parent: RemoteParent | null;
  readonly baggage: Baggage | null;
}

/** Most requests from outside carry no trace. */
const nothing: Received = { parent: null, baggage: null };

/** The class of a recorded span. */
export type SpanType<Start extends SpanStart> = new (
  sink: SpanSink,
  start: Start,
  trace: TraceOf,
  parentId: string | null,
  remote: boolean,
  baggage: Baggage | null,
) => RecordedSpan;
