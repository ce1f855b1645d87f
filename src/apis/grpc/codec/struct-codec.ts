import { parseJson } from "../../../http/json/json.js";
import { toJson } from "../../../http/json/to-json.js";
import { BinaryReader, BinaryWriter, WireType } from "../protobuf.js";
import { prefixLength } from "../wire/frames.js";
import type { Codec } from "./codec.js";

/** Levels of lists and objects: as in JSON bodies of the application. */
const maxDepth = 128;

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * The codec of `google.protobuf.Struct`: JSON objects on one side, the wire format on the other. It is written by hand: the
 * message itself is a tree of objects around each value, which callers cannot use directly.
 */
export class StructCodec implements Codec {
  readonly typeName = "google.protobuf.Struct";

  encode(message: unknown): Buffer {
    const writer = new BinaryWriter();
    writeStruct(writer, objectOf(message), 0);
    const bytes = writer.finish();
    const frame = Buffer.allocUnsafe(prefixLength + bytes.length);
    frame.set(bytes, prefixLength);
    return frame;
  }

  decode(bytes: Uint8Array): unknown {
    return readStruct(new BinaryReader(bytes), bytes.length, 0);
  }

  toJson(message: unknown): string {
    return JSON.stringify(objectOf(message));
  }

  fromJson(text: string): unknown {
    return objectOf(parseJson(Buffer.from(text)));
  }
}

/** The JSON form of a result: what `Response.json` would send. */
function objectOf(message: unknown): { [key: string]: Json } {
  const text = message === undefined || message === null ? "{}" : (toJson(message) ?? "null");
  const value = JSON.parse(text) as Json;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new TypeError("a message is an object");
}

function writeStruct(writer: BinaryWriter, object: { [key: string]: Json }, depth: number): void {
  if (depth > maxDepth) throw new TypeError("the message is nested too deeply");
  for (const [key, value] of Object.entries(object)) {
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key.toWellFormed());
    writer.tag(2, WireType.LengthDelimited).fork();
    writeValue(writer, value, depth);
    writer.join().join();
  }
}

function writeValue(writer: BinaryWriter, value: Json, depth: number): void {
  if (value === null) writer.tag(1, WireType.Varint).int32(0);
  else if (typeof value === "number") writer.tag(2, WireType.Bit64).double(value);
  else if (typeof value === "string") writer.tag(3, WireType.LengthDelimited).string(value.toWellFormed());
  else if (typeof value === "boolean") writer.tag(4, WireType.Varint).bool(value);
  else if (Array.isArray(value)) {
    if (depth >= maxDepth) throw new TypeError("the message is nested too deeply");
    writer.tag(6, WireType.LengthDelimited).fork();
    for (const item of value) {
      writer.tag(1, WireType.LengthDelimited).fork();
      writeValue(writer, item, depth + 1);
      writer.join();
    }
    writer.join();
  } else {
    writer.tag(5, WireType.LengthDelimited).fork();
    writeStruct(writer, value, depth + 1);
    writer.join();
  }
}

function readStruct(reader: BinaryReader, end: number, depth: number): { [key: string]: Json } {
  if (depth > maxDepth) throw new RangeError("the message is nested too deeply");
  const object: { [key: string]: Json } = {};
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    // A Struct has no other field. Without this, a message of another service would be an empty object.
    if (field !== 1 || type !== WireType.LengthDelimited)
      throw new TypeError("the message has the fields of another one");
    const entryEnd = boundary(reader, end);
    let key = "";
    let value: Json = null;
    while (reader.pos < entryEnd) {
      const [part, partType] = reader.tag();
      if (part === 1 && partType === WireType.LengthDelimited) key = reader.string(true);
      else if (part === 2 && partType === WireType.LengthDelimited)
        value = readValue(reader, boundary(reader, entryEnd), depth);
      else reader.skip(partType, part);
    }
    // An own property, whatever its name.
    if (key === "__proto__")
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    else object[key] = value;
  }
  return object;
}

function readValue(reader: BinaryReader, end: number, depth: number): Json {
  let value: Json = null;
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.Varint) {
      reader.int32();
      value = null;
    } else if (field === 2 && type === WireType.Bit64) value = finite(reader.double());
    else if (field === 3 && type === WireType.LengthDelimited) value = reader.string(true);
    else if (field === 4 && type === WireType.Varint) value = reader.bool();
    else if (field === 5 && type === WireType.LengthDelimited)
      value = readStruct(reader, boundary(reader, end), depth + 1);
    else if (field === 6 && type === WireType.LengthDelimited)
      value = readList(reader, boundary(reader, end), depth + 1);
    else reader.skip(type, field);
  }
  return value;
}

function readList(reader: BinaryReader, end: number, depth: number): Json[] {
  if (depth > maxDepth) throw new RangeError("the message is nested too deeply");
  const list: Json[] = [];
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.LengthDelimited) list.push(readValue(reader, boundary(reader, end), depth));
    else reader.skip(type, field);
  }
  return list;
}

/** The end of a part that begins with its length, inside of the part around it. */
function boundary(reader: BinaryReader, end: number): number {
  const length = reader.uint32();
  const stop = reader.pos + length;
  if (stop > end) throw new RangeError("the message is cut off");
  return stop;
}

/** JSON has no other numbers. */
function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new RangeError("a number is not finite");
}
