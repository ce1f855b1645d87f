import type { LineLevel } from "../../../logging/levels.js";
import type { PlainFields } from "../../../logging/plain.js";
import { type AnyValue, writeAttribute, writeValue } from "./attributes.js";
import type { Writer } from "./writer.js";

export interface LogRecord {
  /** Microseconds since 1970. */
  readonly time: number;
  readonly level: LineLevel;
  readonly message: string;
  readonly fields: PlainFields;
  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly flags: number;
}

/** The numbers of opentelemetry.proto.logs.v1.SeverityNumber. */
const severities: Readonly<Record<LineLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };

/** Fields that the record holds elsewhere. */
const known = new Set(["trace_id", "span_id"]);

/** Writes one `LogRecord` as field 2 of `ScopeLogs`. */
export function encodeLog(writer: Writer, record: LogRecord, limit: number): void {
  const whole = writer.begin(0x12);
  writer.tag(0x09).nanos(record.time);
  writer.tag(0x10).byte(severities[record.level]);
  writer.tag(0x1a).string(record.level.toUpperCase());
  writeValue(writer, 0x2a, record.message, limit);
  for (const [name, value] of Object.entries(record.fields)) {
    if (known.has(name)) continue;
    if (name === "error" && isErrorFields(value)) writeError(writer, value, limit);
    else writeAttribute(writer, 0x32, name, value as AnyValue, limit);
  }
  if (record.traceId !== null && record.spanId !== null) {
    writer.tag(0x45).fixed32(record.flags);
    writer.tag(0x4a).id(record.traceId);
    writer.tag(0x52).id(record.spanId);
  }
  writer.tag(0x59).nanos(record.time);
  writer.join(whole);
}

interface ErrorFields {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

function isErrorFields(value: unknown): value is ErrorFields {
  const { name, message } = (value ?? {}) as Partial<ErrorFields>;
  return typeof name === "string" && typeof message === "string";
}

/** The conventions have names for the parts of an error. Its other members follow under its field. */
function writeError(writer: Writer, error: ErrorFields, limit: number): void {
  const { name, message, stack, ...rest } = error;
  writeAttribute(writer, 0x32, "exception.type", name, limit);
  writeAttribute(writer, 0x32, "exception.message", message, limit);
  if (stack !== undefined) writeAttribute(writer, 0x32, "exception.stacktrace", stack, limit);
  if (Object.keys(rest).length > 0) writeAttribute(writer, 0x32, "error", rest as AnyValue, limit);
}
