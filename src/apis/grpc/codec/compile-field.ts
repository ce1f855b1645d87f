import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { WireReader } from "../../../kit/protobuf/wire-reader.js";
import type { WireWriter } from "../../../kit/protobuf/wire-writer.js";
import { FeatureSet_FieldPresence, ScalarType } from "../protobuf.js";
import { itemSize } from "./message-bounds.js";
import { enumScalar, type Scalar, scalarOf } from "./scalars.js";

export type Fields = Record<string, unknown>;

/** The functions of one type of messages. */
export interface MessageCode {
  /** Memory of an empty message. */
  readonly size: number;
  /** An empty message. */
  make(): Fields;
  write(writer: WireWriter, message: Fields): void;
  /** Reads up to the end of the reader. */
  read(reader: WireReader, message: Fields, depth: number): void;
}

/** The functions of one field. */
export interface FieldCode {
  /** Sets the value of an empty message. */
  init?(message: Fields): void;
  write(writer: WireWriter, message: Fields): void;
  /** False if the field cannot have this wire type: it is kept as unknown. */
  read(reader: WireReader, message: Fields, wireType: number, depth: number): boolean;
}

/** The field that is written: for the error of a value that does not fit. */
export const place = { field: "" };

type CodeOf = (type: DescMessage) => MessageCode;

/** A value of a field, of a list, or of a map. */
interface Value {
  readonly wireType: number;
  write(writer: WireWriter, value: unknown): void;
  /** `before` is the value that the field has: parts of a message are merged. */
  read(reader: WireReader, before: unknown, depth: number): unknown;
}

export function compileField(field: DescField, codeOf: CodeOf): FieldCode {
  if (field.fieldKind === "list") return compileList(field, codeOf);
  if (field.fieldKind === "map") return compileMap(field, codeOf);
  return field.oneof === undefined
    ? compileSingular(field, codeOf)
    : compileChoice(field, field.oneof.localName, codeOf);
}

type Singular = Extract<DescField, { fieldKind: "scalar" | "enum" | "message" }>;

function compileSingular(field: Singular, codeOf: CodeOf): FieldCode {
  const { localName: name, number } = field;
  const value = codedValue(field, codeOf);
  const tag = tagOf(number, value.wireType);
  const scalar = scalarIn(field);
  const implicit = scalar !== null && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return {
    ...(implicit && {
      init(message) {
        message[name] = scalar.zero;
      },
    }),
    write(writer, message) {
      const given = message[name];
      if (given === undefined || given === null || (implicit && scalar.isZero(given))) return;
      writer.uint32(tag);
      place.field = name;
      value.write(writer, given);
    },
    read(reader, message, wireType, depth) {
      if (wireType !== value.wireType) return false;
      message[name] = value.read(reader, message[name], depth);
      return true;
    },
  };
}

interface Choice {
  readonly case?: string | undefined;
  readonly value?: unknown;
}

function compileChoice(field: Singular, oneof: string, codeOf: CodeOf): FieldCode {
  const { localName: name, number } = field;
  const value = codedValue(field, codeOf);
  const tag = tagOf(number, value.wireType);
  return {
    init(message) {
      message[oneof] = { case: undefined };
    },
    write(writer, message) {
      const choice = message[oneof] as Choice | undefined;
      if (choice?.case !== name || choice.value === undefined) return;
      writer.uint32(tag);
      place.field = name;
      value.write(writer, choice.value);
    },
    read(reader, message, wireType, depth) {
      if (wireType !== value.wireType) return false;
      const before = message[oneof] as Choice;
      message[oneof] = {
        case: name,
        value: value.read(reader, before.case === name ? before.value : undefined, depth),
      };
      return true;
    },
  };
}

function compileList(field: Extract<DescField, { fieldKind: "list" }>, codeOf: CodeOf): FieldCode {
  const { localName: name, number, packed } = field;
  const value = codedValue(field, codeOf);
  const canPack = value.wireType !== 2;
  const tag = tagOf(number, packed && canPack ? 2 : value.wireType);
  const size = itemSize(field);
  return {
    init(message) {
      message[name] = [];
    },
    write(writer, message) {
      const items = message[name] as readonly unknown[] | undefined;
      if (items === undefined || items === null || items.length === 0) return;
      if (!Array.isArray(items)) throw new TypeError(`${name}: a list is expected`);
      place.field = name;
      if (packed && canPack) {
        writer.uint32(tag);
        const start = writer.fork();
        for (const item of items) value.write(writer, item);
        writer.join(start);
        return;
      }
      for (const item of items) {
        writer.uint32(tag);
        value.write(writer, item);
      }
    },
    read(reader, message, wireType, depth) {
      const items = message[name] as unknown[];
      if (wireType === value.wireType) {
        reader.take(size);
        items.push(value.read(reader, undefined, depth));
        return true;
      }
      if (wireType !== 2 || !canPack) return false;
      const end = reader.boundary();
      const outer = reader.end;
      reader.end = end;
      while (reader.at < end) {
        reader.take(size);
        items.push(value.read(reader, undefined, depth));
      }
      reader.end = outer;
      return true;
    },
  };
}

function compileMap(field: Extract<DescField, { fieldKind: "map" }>, codeOf: CodeOf): FieldCode {
  const { localName: name, number, mapKey } = field;
  const key = scalarOf(mapKey);
  const keyOf = keyReader(mapKey);
  const value = codedValue(field, codeOf);
  const empty = emptyOf(field, codeOf);
  const tag = tagOf(number, 2);
  const keyTag = tagOf(1, key.wireType);
  const valueTag = tagOf(2, value.wireType);
  return {
    init(message) {
      message[name] = {};
    },
    write(writer, message) {
      const entries = message[name] as Fields | undefined;
      if (entries === undefined || entries === null) return;
      place.field = name;
      for (const [given, item] of Object.entries(entries)) {
        writer.uint32(tag);
        const start = writer.fork();
        writer.uint32(keyTag);
        key.write(writer, keyOf(given));
        writer.uint32(valueTag);
        value.write(writer, item);
        writer.join(start);
      }
    },
    read(reader, message, wireType, depth) {
      if (wireType !== 2) return false;
      const end = reader.boundary();
      const outer = reader.end;
      reader.end = end;
      let entryKey: unknown = key.zero;
      let item: unknown;
      while (reader.at < end) {
        const tagRead = reader.header();
        if (tagRead === keyTag) entryKey = key.read(reader);
        else if (tagRead === valueTag) item = value.read(reader, item, depth);
        else reader.skip(tagRead);
      }
      reader.end = outer;
      setEntry(message[name] as Fields, String(entryKey), item === undefined ? empty(reader) : item);
      return true;
    },
  };
}

/** An own property, whatever its name. */
function setEntry(entries: Fields, key: string, value: unknown): void {
  if (key !== "__proto__") entries[key] = value;
  else Object.defineProperty(entries, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Keys of objects are text. */
function keyReader(type: ScalarType): (key: string) => unknown {
  switch (type) {
    case ScalarType.STRING:
      return (key) => key;
    case ScalarType.BOOL:
      return (key) => (key === "true" ? true : key === "false" ? false : key);
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (key) => BigInt(key);
    default:
      return (key) => Number(key);
  }
}

function emptyOf(field: DescField, codeOf: CodeOf): (reader: WireReader) => unknown {
  const scalar = scalarIn(field);
  if (scalar !== null) return () => scalar.zero;
  const code = codeOf(field.message!);
  return (reader) => made(code, reader);
}

function made(code: MessageCode, reader: WireReader): Fields {
  reader.take(code.size);
  return code.make();
}

function scalarIn(field: DescField): Scalar | null {
  if (field.message !== undefined) return null;
  if (field.scalar === undefined) return enumScalar;
  return scalarOf(field.scalar, "longAsString" in field && field.longAsString === true);
}

function codedValue(field: DescField, codeOf: CodeOf): Value {
  const scalar = scalarIn(field);
  if (scalar !== null) return scalar;
  const code = codeOf(field.message!);
  return {
    wireType: 2,
    write(writer, value) {
      if (typeof value !== "object" || value === null) throw new TypeError("a message is expected");
      const start = writer.fork();
      code.write(writer, value as Fields);
      writer.join(start);
    },
    read(reader, before, depth) {
      const end = reader.boundary();
      const outer = reader.end;
      reader.end = end;
      const message = (before as Fields | undefined) ?? made(code, reader);
      code.read(reader, message, depth + 1);
      reader.end = outer;
      return message;
    },
  };
}

function tagOf(number: number, wireType: number): number {
  return ((number << 3) | wireType) >>> 0;
}
