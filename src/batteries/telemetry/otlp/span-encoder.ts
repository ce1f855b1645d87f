import { unixMicros } from "../trace/clock.js";
import type { RecordedSpan } from "../trace/recorded-span.js";
import { writeAttribute } from "./attributes.js";
import type { Writer } from "./writer.js";

/** Bits of the flags that say if the parent is in another process (opentelemetry.proto.trace.v1.SpanFlags). */
const remoteKnown = 0x100;
const remote = 0x200;

/** Writes one `Span` as field 2 of `ScopeSpans`. */
export function encodeSpan(writer: Writer, span: RecordedSpan): void {
  const { limit } = span;
  const whole = writer.begin(0x12);
  writer.tag(0x0a).id(span.traceId);
  writer.tag(0x12).id(span.spanId);
  const state = span.state === null ? "" : span.state.text;
  if (state !== "") writer.tag(0x1a).string(state);
  if (span.parentId !== null) writer.tag(0x22).id(span.parentId);
  if (span.head !== null) {
    writer.raw(span.head);
  } else {
    writer.tag(0x2a).string(span.name);
    writer.tag(0x30).byte(span.kind);
  }
  writer.tag(0x39).nanos(unixMicros(span.startedAt));
  writer.tag(0x41).nanos(unixMicros(span.endedAt));
  span.writeOwn(writer);
  const { attributes } = span;
  if (attributes !== null) {
    for (let i = 0; i < attributes.length; i += 2) {
      writeAttribute(writer, 0x4a, attributes[i] as string, attributes[i + 1]!, limit);
    }
  }
  writeCount(writer, 0x50, span.droppedAttributes);
  if (span.events !== null) writeEvents(writer, span);
  if (span.links !== null) writeLinks(writer, span);
  if (span.status !== 0) writeStatus(writer, span);
  writer.byte(0x85);
  writer.tag(0x01).fixed32(span.flags | remoteKnown | (span.parentRemote ? remote : 0));
  writer.join(whole);
}

function writeEvents(writer: Writer, { events, droppedEvents, limit }: RecordedSpan): void {
  for (const { name, moment, attributes } of events!) {
    const mark = writer.begin(0x5a);
    writer.tag(0x09).nanos(unixMicros(moment));
    writer.tag(0x12).string(name);
    for (const [key, value] of attributes) writeAttribute(writer, 0x1a, key, value, limit);
    writer.join(mark);
  }
  writeCount(writer, 0x60, droppedEvents);
}

function writeLinks(writer: Writer, { links, droppedLinks, limit }: RecordedSpan): void {
  for (const { traceId, spanId, flags, state, attributes } of links!) {
    const mark = writer.begin(0x6a);
    writer.tag(0x0a).id(traceId);
    writer.tag(0x12).id(spanId);
    if (state !== "") writer.tag(0x1a).string(state);
    for (const [key, value] of attributes) writeAttribute(writer, 0x22, key, value, limit);
    writer.tag(0x35).fixed32(flags);
    writer.join(mark);
  }
  writeCount(writer, 0x70, droppedLinks);
}

function writeStatus(writer: Writer, { status, statusMessage, limit }: RecordedSpan): void {
  const mark = writer.begin(0x7a);
  if (statusMessage !== "") writer.tag(0x12).string(statusMessage.slice(0, limit));
  writer.tag(0x18).byte(status);
  writer.join(mark);
}

function writeCount(writer: Writer, tag: number, count: number): void {
  if (count === 0) return;
  writer.tag(tag).uint32(count);
}
