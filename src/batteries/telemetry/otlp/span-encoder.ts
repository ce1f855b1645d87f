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
  writer.byte(0x0a);
  writer.id(span.traceId);
  writer.byte(0x12);
  writer.id(span.spanId);
  const state = span.state === null ? "" : span.state.text;
  if (state !== "") {
    writer.byte(0x1a);
    writer.string(state);
  }
  if (span.parentId !== null) {
    writer.byte(0x22);
    writer.id(span.parentId);
  }
  if (span.head !== null) {
    writer.raw(span.head);
  } else {
    writer.byte(0x2a);
    writer.string(span.name);
    writer.byte(0x30);
    writer.byte(span.kind);
  }
  writer.byte(0x39);
  writer.nanos(unixMicros(span.startedAt));
  writer.byte(0x41);
  writer.nanos(unixMicros(span.endedAt));
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
  writer.byte(0x01);
  writer.fixed32(span.flags | remoteKnown | (span.parentRemote ? remote : 0));
  writer.join(whole);
}

function writeEvents(writer: Writer, { events, droppedEvents, limit }: RecordedSpan): void {
  for (const { name, moment, attributes } of events!) {
    const mark = writer.begin(0x5a);
    writer.byte(0x09);
    writer.nanos(unixMicros(moment));
    writer.byte(0x12);
    writer.string(name);
    for (const [key, value] of attributes) writeAttribute(writer, 0x1a, key, value, limit);
    writer.join(mark);
  }
  writeCount(writer, 0x60, droppedEvents);
}

function writeLinks(writer: Writer, { links, droppedLinks, limit }: RecordedSpan): void {
  for (const { traceId, spanId, flags, state, attributes } of links!) {
    const mark = writer.begin(0x6a);
    writer.byte(0x0a);
    writer.id(traceId);
    writer.byte(0x12);
    writer.id(spanId);
    if (state !== "") {
      writer.byte(0x1a);
      writer.string(state);
    }
    for (const [key, value] of attributes) writeAttribute(writer, 0x22, key, value, limit);
    writer.byte(0x35);
    writer.fixed32(flags);
    writer.join(mark);
  }
  writeCount(writer, 0x70, droppedLinks);
}

function writeStatus(writer: Writer, { status, statusMessage, limit }: RecordedSpan): void {
  const mark = writer.begin(0x7a);
  if (statusMessage !== "") {
    writer.byte(0x12);
    writer.string(statusMessage.slice(0, limit));
  }
  writer.byte(0x18);
  writer.byte(status);
  writer.join(mark);
}

function writeCount(writer: Writer, tag: number, count: number): void {
  if (count === 0) return;
  writer.byte(tag);
  writer.uint32(count);
}
