import type { AttributeValue } from "../../../kit/tracer.js";
import type { InstrumentationScope } from "../trace/context.js";
import { writeAttribute } from "./attributes.js";
import { Writer } from "./writer.js";

/** Items of one library, as bytes. */
export interface Segment {
  readonly scope: InstrumentationScope;
  readonly items: Uint8Array;
}

const noLimit = Number.POSITIVE_INFINITY;

export function encodeResource(attributes: readonly (readonly [name: string, value: AttributeValue])[]): Uint8Array {
  const writer = new Writer(512);
  const mark = writer.begin(0x0a);
  for (const [name, value] of attributes) writeAttribute(writer, 0x0a, name, value, noLimit);
  writer.join(mark);
  return Uint8Array.from(writer.written);
}

/**
 * The body of an export. Requests for traces, metrics and logs have the same outer form: field 1 holds a resource (1) and
 * groups of items (2), each with the library that made them (1). The items are not copied.
 */
export function exportBody(resource: Uint8Array, segments: readonly Segment[]): Uint8Array[] {
  const pieces: Uint8Array[] = [resource];
  let length = resource.length;
  for (const { scope, items } of segments) {
    const head = scopeBytes(scope);
    const open = lengthPrefix(0x12, head.length + items.length);
    pieces.push(open, head, items);
    length += open.length + head.length + items.length;
  }
  return [lengthPrefix(0x0a, length), ...pieces];
}

function scopeBytes({ name, version }: InstrumentationScope): Uint8Array {
  const writer = new Writer(128);
  const mark = writer.begin(0x0a);
  writer.tag(0x0a).string(name);
  if (version !== "") writer.tag(0x12).string(version);
  writer.join(mark);
  return writer.written;
}

function lengthPrefix(tag: number, length: number): Uint8Array {
  const writer = new Writer(12);
  writer.tag(tag).uint32(length);
  return writer.written;
}
