import type { AttributeValue } from "../../../kit/tracer.js";
import type { Writer } from "./writer.js";

/** Values of nested attributes, for log records. */
export type AnyValue = AttributeValue | null | readonly AnyValue[] | { readonly [key: string]: AnyValue };

/** A `KeyValue` in the field with this tag. Texts are cut after `limit` characters. */
export function writeAttribute(writer: Writer, tag: number, key: string, value: AnyValue, limit: number): void {
  const mark = writer.begin(tag);
  writer.tag(0x0a).string(key);
  writeValue(writer, 0x12, value, limit);
  writer.join(mark);
}

/** An `AnyValue` in the field with this tag. */
export function writeValue(writer: Writer, tag: number, value: AnyValue, limit: number): void {
  const mark = writer.begin(tag);
  switch (typeof value) {
    case "string":
      writer.tag(0x0a).string(value.length > limit ? value.slice(0, limit) : value);
      break;
    case "boolean":
      writer.tag(0x10).byte(value ? 1 : 0);
      break;
    case "number":
      writeNumber(writer, value);
      break;
    case "object":
      if (value !== null) writeNested(writer, value, limit);
      break;
  }
  writer.join(mark);
}

function writeNumber(writer: Writer, value: number): void {
  if (Number.isSafeInteger(value)) {
    writer.tag(0x18).int64(value);
  } else {
    writer.tag(0x21).double(value);
  }
}

function writeNested(writer: Writer, value: object, limit: number): void {
  const list = Array.isArray(value);
  const mark = writer.begin(list ? 0x2a : 0x32);
  if (list) for (const item of value as readonly AnyValue[]) writeValue(writer, 0x0a, item, limit);
  else for (const [key, item] of Object.entries(value)) writeAttribute(writer, 0x0a, key, item as AnyValue, limit);
  writer.join(mark);
}
