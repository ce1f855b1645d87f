import { describeError } from "../../../errors/describe.js";
import type { Attributes, AttributeValue, SpanKind } from "../../../kit/tracer.js";
import { plainText } from "../../../logging/plain.js";
import type { Writer } from "../otlp/writer.js";
import type { Baggage } from "../propagation/baggage.js";
import type { TraceState } from "../propagation/trace-state.js";
import { ContextSpan, type InstrumentationScope, type SpanLink, type SpanSource, type SpanStart } from "./context.js";
import { newSpanId } from "./ids.js";

/** Takes the spans that have ended. */
export interface SpanSink extends SpanSource {
  readonly limits: SpanLimits;
  readonly scope: InstrumentationScope;
  record(span: RecordedSpan): void;
}

/** The trace that a span belongs to. */
export interface TraceOf {
  readonly traceId: string;
  readonly flags: number;
  readonly state: TraceState | null;
}

export interface SpanLimits {
  readonly attributes: number;
  readonly events: number;
  readonly links: number;
  /** Characters of a text. */
  readonly valueLength: number;
}

export interface SpanEvent {
  readonly name: string;
  readonly moment: number;
  readonly attributes: readonly (readonly [name: string, value: AttributeValue])[];
}

/** The numbers of opentelemetry.proto.trace.v1.Span.SpanKind. */
const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };

export const statusError = 2;

const maxName = 1024;

/** A span of a sampled trace. Everything stays as it was given until the end; then it is encoded at once. */
export class RecordedSpan extends ContextSpan {
  readonly recording: boolean = true;
  readonly spanId: string = newSpanId();
  readonly scope: InstrumentationScope;
  readonly kind: number;
  readonly startedAt: number;
  name: string;
  /** NaN while it has not ended. */
  endedAt: number = Number.NaN;
  /** Names and values in turn. */
  attributes: (string | AttributeValue)[] | null = null;
  events: SpanEvent[] | null = null;
  links: SpanLink[] | null = null;
  status = 0;
  statusMessage = "";
  droppedAttributes = 0;
  droppedEvents = 0;
  droppedLinks = 0;

  constructor(
    readonly sink: SpanSink,
    start: SpanStart,
    trace: TraceOf,
    readonly parentId: string | null,
    readonly parentRemote: boolean,
    baggage: Baggage | null,
  ) {
    super(sink, trace.traceId, trace.flags, trace.state, baggage);
    this.scope = start.scope ?? sink.scope;
    this.kind = kinds[start.kind];
    this.startedAt = start.startedAt ?? performance.now();
    this.name = start.name;
    const { attributes, links } = start;
    if (attributes !== undefined) for (const name in attributes) this.set(name, attributes[name]);
    if (links !== undefined) for (const link of links) this.link(link);
  }

  /** The name, the kind and attributes as bytes, where they are known before the span. */
  get head(): Uint8Array | null {
    return null;
  }

  get limit(): number {
    return this.sink.limits.valueLength;
  }

  get ended(): boolean {
    return !Number.isNaN(this.endedAt);
  }

  /** Writes attributes that a subclass knows. */
  writeOwn(_writer: Writer): void {}

  set(name: string, value: AttributeValue | undefined): this {
    if (value === undefined || this.ended || !isAttribute(value)) return this;
    const attributes = (this.attributes ??= []);
    for (let i = 0; i < attributes.length; i += 2) {
      if (attributes[i] !== name) continue;
      attributes[i + 1] = value;
      return this;
    }
    if (attributes.length >= this.sink.limits.attributes * 2) this.droppedAttributes++;
    else attributes.push(name, value);
    return this;
  }

  event(name: string, attributes?: Attributes, moment: number = performance.now()): this {
    if (this.ended) return this;
    const events = (this.events ??= []);
    if (events.length >= this.sink.limits.events) this.droppedEvents++;
    else events.push({ name: cut(name), moment, attributes: pairsOf(attributes, this.sink.limits.attributes) });
    return this;
  }

  link(link: SpanLink): void {
    if (this.ended) return;
    const links = (this.links ??= []);
    if (links.length >= this.sink.limits.links) this.droppedLinks++;
    else links.push(link);
  }

  rename(name: string): this {
    if (!this.ended) this.name = cut(name);
    return this;
  }

  setStatus(status: number, message = ""): void {
    if (this.ended) return;
    this.status = status;
    this.statusMessage = status === statusError ? message : "";
  }

  /** Records an error as an event; it does not decide on the status. */
  exception(error: unknown, moment?: number): string {
    const { name, message, stack } = describeError(error);
    const attributes = {
      "exception.type": name,
      "exception.message": plainText(message),
      "exception.stacktrace": stack === undefined ? undefined : plainText(stack),
    };
    this.event("exception", attributes, moment);
    return name;
  }

  fail(error: unknown, moment?: number): void {
    const type = this.exception(error, moment);
    this.setStatus(statusError, plainText(describeError(error).message));
    if (!this.attributes?.includes("error.type")) this.set("error.type", type);
  }

  end(error?: unknown): void {
    const moment = performance.now();
    if (error !== undefined && error !== null) this.fail(error, moment);
    this.endAt(moment);
  }

  endAt(moment: number): void {
    if (this.ended) return;
    this.endedAt = Math.max(moment, this.startedAt);
    this.sink.record(this);
  }
}

function cut(name: string): string {
  return name.length > maxName ? name.slice(0, maxName) : name;
}

export function pairsOf(attributes: Attributes | undefined, limit: number): (readonly [string, AttributeValue])[] {
  const pairs: (readonly [string, AttributeValue])[] = [];
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && isAttribute(value) && pairs.length < limit) pairs.push([name, value]);
  }
  return pairs;
}

/** Code without type checks may give anything. */
function isAttribute(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return true;
    default:
      return (
        Array.isArray(value) &&
        value.length <= maxItems &&
        value.every((item) => typeof item !== "object" && isAttribute(item))
      );
  }
}

const maxItems = 1000;
