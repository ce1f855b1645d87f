import type { DescField, DescMessage, Message, Registry } from "@bufbuild/protobuf";
import { WireWriter } from "../../../kit/protobuf/wire-writer.js";
import { create, Edition, toBinary } from "../protobuf.js";
import { prefixLength } from "../wire/frames.js";
import { compileField, type FieldCode, type MessageCode, place } from "./compile-field.js";
import { boundedReader, decodeByLibrary, emptySize } from "./message-bounds.js";
import { MessageCodec } from "./message-codec.js";

/** Messages below each other. */
const maxDepth = 100;

/** One for all: encoding never waits. */
const writer = new WireWriter();

/**
 * The codec of a message of proto3, made of one function per field, once. No code is made from text. Messages look as those of
 * @bufbuild/protobuf. JSON, and types with their own forms, are left to that library.
 */
export class CompiledCodec extends MessageCodec {
  readonly #code: MessageCode;

  constructor(type: DescMessage, registry?: Registry) {
    super(type, registry);
    this.#code = codeOf(type);
  }

  override encode(message: unknown): Buffer {
    if (typeof message !== "object" || message === null) throw new TypeError("a message is an object");
    writer.restart(prefixLength);
    try {
      this.#code.write(writer, message as Record<string, unknown>);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new TypeError(`${place.field}: ${reason}`, { cause: error });
    }
    return writer.finish();
  }

  override decode(bytes: Uint8Array): unknown {
    const message = this.#code.make();
    this.#code.read(boundedReader(bytes), message, 0);
    return message;
  }
}

/** True if all parts of the message can be compiled; types of its fields may be left to the library. */
export function canCompile(type: DescMessage): boolean {
  return type.file.edition === Edition.EDITION_PROTO3 && type.fields.every(isPlain) && !wellKnown.has(type.typeName);
}

/** Types that the library shows in another form where they are fields. */
const wellKnown: ReadonlySet<string> = new Set(
  "DoubleValue FloatValue Int64Value UInt64Value Int32Value UInt32Value BoolValue StringValue BytesValue Struct Any"
    .split(" ")
    .map((name) => `google.protobuf.${name}`),
);

function isPlain(field: DescField): boolean {
  if (field.fieldKind === "map" || field.fieldKind === "list") {
    return field.message === undefined || !wellKnown.has(field.message.typeName);
  }
  if (field.fieldKind === "message") return !field.delimitedEncoding && !wellKnown.has(field.message.typeName);
  return true;
}

const codes = new WeakMap<DescMessage, MessageCode>();

/** The functions of a type. A type may contain itself: its code is known before its fields are. */
function codeOf(type: DescMessage): MessageCode {
  const known = codes.get(type);
  if (known !== undefined) return known;
  if (!canCompile(type)) {
    const code = libraryCode(type);
    codes.set(type, code);
    return code;
  }
  const fields: FieldCode[] = [];
  const byNumber: FieldCode[] = [];
  const { typeName } = type;
  const code: MessageCode = {
    size: emptySize(type),
    make() {
      const message: Record<string, unknown> = { $typeName: typeName };
      for (const field of fields) field.init?.(message);
      return message;
    },
    write(target, message) {
      for (const field of fields) field.write(target, message);
      const unknown = message["$unknown"] as Message["$unknown"];
      if (unknown === undefined) return;
      for (const { no, wireType, data } of unknown) {
        target.uint32((no << 3) | wireType);
        target.raw(data);
      }
    },
    read(reader, message, depth) {
      if (depth > maxDepth) throw new RangeError("the message is nested too deeply");
      while (reader.at < reader.end) {
        const tag = reader.header();
        const no = tag >>> 3;
        const wireType = tag & 7;
        const field = byNumber[no];
        if (field === undefined || !field.read(reader, message, wireType, depth)) {
          if (no === 0) throw new RangeError("a field has the number 0");
          if (reader.unknownLeft === 0) {
            reader.skip(tag);
            continue;
          }
          reader.unknownLeft--;
          const data = reader.skipField(tag);
          ((message["$unknown"] as unknown[] | undefined) ?? ((message["$unknown"] = []) as unknown[])).push({
            no,
            wireType,
            data,
          });
        }
      }
    },
  };
  codes.set(type, code);
  for (const field of type.fields) {
    const compiled = compileField(field, codeOf);
    fields.push(compiled);
    byNumber[field.number] = compiled;
  }
  return code;
}

/** A type that the library reads and writes. */
function libraryCode(type: DescMessage): MessageCode {
  return {
    size: emptySize(type),
    make: () => create(type) as unknown as Record<string, unknown>,
    write: (target, message) => target.raw(toBinary(type, create(type, message))),
    read(reader, message) {
      const bytes = reader.rest();
      Object.assign(message, decodeByLibrary(type, bytes, reader));
    },
  };
}
