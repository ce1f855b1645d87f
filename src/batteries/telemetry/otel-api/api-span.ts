import type * as Api from "@opentelemetry/api";
import type { Attributes, AttributeValue } from "../../../kit/tracer.js";
import { momentOf } from "../trace/clock.js";
import type { ContextSpan, SpanLink } from "../trace/context.js";
import { pairsOf, RecordedSpan } from "../trace/recorded-span.js";

const maxLinkAttributes = 128;

/** One of our spans as a span of @opentelemetry/api. */
export class ApiSpan implements Api.Span {
  constructor(
    private readonly api: typeof Api,
    readonly span: ContextSpan,
  ) {}

  spanContext(): Api.SpanContext {
    const { traceId, spanId, flags, state } = this.span;
    const text = state === null ? "" : state.text;
    return {
      traceId,
      spanId,
      traceFlags: flags,
      ...(text !== "" && { traceState: this.api.createTraceState(text) }),
      ...(this.span.remote && { isRemote: true }),
    };
  }

  setAttribute(key: string, value: Api.AttributeValue): this {
    this.span.set(key, value as AttributeValue);
    return this;
  }

  setAttributes(attributes: Api.Attributes): this {
    for (const [key, value] of Object.entries(attributes)) this.span.set(key, value as AttributeValue);
    return this;
  }

  addEvent(name: string, second?: Api.Attributes | Api.TimeInput, third?: Api.TimeInput): this {
    const timed = isTime(second);
    const attributes = timed ? undefined : (second as Attributes | undefined);
    if (this.span instanceof RecordedSpan) this.span.event(name, attributes, readTime(timed ? second : third));
    return this;
  }

  addLink(link: Api.Link): this {
    if (this.span instanceof RecordedSpan) this.span.link(linkOf(link));
    return this;
  }

  addLinks(links: Api.Link[]): this {
    for (const link of links) this.addLink(link);
    return this;
  }

  setStatus({ code, message }: Api.SpanStatus): this {
    if (this.span instanceof RecordedSpan) this.span.setStatus(code, message);
    return this;
  }

  updateName(name: string): this {
    this.span.rename(name);
    return this;
  }

  end(time?: Api.TimeInput): void {
    if (this.span instanceof RecordedSpan) this.span.endAt(readTime(time) ?? performance.now());
  }

  isRecording(): boolean {
    return this.span instanceof RecordedSpan && !this.span.ended;
  }

  recordException(exception: Api.Exception, time?: Api.TimeInput): void {
    if (this.span instanceof RecordedSpan) this.span.exception(exception, readTime(time));
  }
}

export function linkOf({ context, attributes }: Api.Link): SpanLink {
  const { traceId, spanId, traceFlags, traceState } = context;
  return {
    traceId,
    spanId,
    flags: traceFlags,
    state: traceState?.serialize() ?? "",
    attributes: pairsOf(attributes as Attributes | undefined, maxLinkAttributes),
  };
}

function isTime(value: unknown): value is Api.TimeInput {
  return typeof value === "number" || value instanceof Date || Array.isArray(value);
}

/** A moment of the monotonic clock from a time as the interface allows it: a date, seconds and nanoseconds, milliseconds. */
export function readTime(time: Api.TimeInput | undefined): number | undefined {
  if (time === undefined) return undefined;
  if (time instanceof Date) return momentOf(time.getTime());
  if (Array.isArray(time)) return momentOf(time[0] * 1000 + time[1] / 1e6);
  // A small number is the time of `performance.now()`, as in the SDK.
  return time < performance.timeOrigin / 2 ? time : momentOf(time);
}
