import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { bytesSize, WireReader } from "../../../kit/protobuf/wire-reader.js";
import { fromBinary, ScalarType } from "../protobuf.js";
import { enumScalar, scalarOf } from "./scalars.js";

/**
 * Unknown fields that one message may keep, with all messages in it. A field takes two bytes on the wire and two hundred in
 * memory, whatever the type of the message is. Beyond this number they are dropped.
 */
const maxUnknownFields = 10_000;

/** A reader of a whole message that keeps the bounds. */
export function boundedReader(bytes: Uint8Array): WireReader {
  return new WireReader(bytes, maxUnknownFields, memoryFor(bytes.length));
}

/**
 * The memory that a message of so many bytes may take. An empty message takes a hundred times its two bytes, and millions of
 * them are a few kilobytes if they are compressed.
 */
function memoryFor(bytes: number): number {
  return 33_554_432 + 8 * bytes;
}

/** About the memory of an empty message. */
export function emptySize(type: DescMessage): number {
  let size = 64;
  for (const { fieldKind } of type.fields) size += fieldKind === "list" ? 32 : fieldKind === "map" ? 64 : 8;
  return size;
}

/** A place in a list: 8 to 12 bytes, and both sizes of the list while it grows. A packed number has one byte on the wire. */
const slotSize = 16;

/** An integer of 64 bits in a list: the place and the bigint. */
const longSize = slotSize + 24;

/** About the memory of a value in a list, without the message or the bytes that it may be. */
export function itemSize({ scalar }: DescField): number {
  return scalar !== undefined && typeof scalarOf(scalar).zero === "bigint" ? longSize : slotSize;
}

/** Throws if a message in JSON takes more memory than one of its size may: objects and items of two characters. */
export function checkJson(type: DescMessage, text: string): void {
  const most = memoryFor(text.length);
  const objectSize = largestSize(type);
  let memory = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) inString = !inString;
    else if (code === 0x5c) i++;
    else if (inString) continue;
    else if (code === 0x7b) memory += objectSize;
    else if (code === 0x2c) memory += longSize;
  }
  if (memory > most) throw new RangeError("the message has too many parts for its size");
}

const largest = new WeakMap<DescMessage, number>();

/** The size of the largest type in a message. */
function largestSize(type: DescMessage): number {
  let size = largest.get(type);
  if (size === undefined) {
    const types = new Set([type]);
    for (const { fields } of types) for (const { message } of fields) if (message) types.add(message);
    largest.set(type, (size = Math.max(...[...types].map(emptySize))));
  }
  return size;
}

/** Decodes by the library, which has no such bounds: `outer` is the reader of the message, or of one around it. */
export function decodeByLibrary(type: DescMessage, bytes: Uint8Array, outer: WireReader): object {
  const count = unknownIn(type, new WireReader(bytes), 0, outer);
  const readUnknownFields = count <= outer.unknownLeft;
  if (readUnknownFields) outer.unknownLeft -= count;
  return fromBinary(type, bytes, { readUnknownFields });
}

/** A message, or an entry of a map of messages. */
type Part = DescMessage | { readonly entryOf: DescMessage };

/** The fields of a message that its type does not have. The contents of groups count as well. */
function unknownIn(part: Part, reader: WireReader, depth: number, outer: WireReader): number {
  let count = 0;
  const fields = fieldsOf(part);
  while (reader.at < reader.end) {
    const tag = reader.header();
    const wireType = tag & 7;
    const known = fields.get(tag >>> 3);
    if (known === undefined) count++;
    if (wireType === 3 || wireType === 4) continue;
    if (known && "size" in known) {
      takeScalars(known, reader, tag, outer);
      continue;
    }
    if (wireType !== 2 || !known || depth > maxDepth) {
      reader.skip(tag);
      continue;
    }
    outer.take(emptySize("entryOf" in known ? known.entryOf : known));
    const end = reader.end;
    reader.end = reader.boundary();
    count += unknownIn(known, reader, depth + 1, outer);
    reader.end = end;
  }
  return count;
}

/** Counts the value of a field, or all values if they are packed. */
function takeScalars({ size, wireType }: Scalars, reader: WireReader, tag: number, outer: WireReader): void {
  if ((tag & 7) !== 2 || wireType === 2) {
    outer.take(size);
    reader.skip(tag);
    return;
  }
  for (const end = reader.boundary(); reader.at < end; reader.skip(wireType)) outer.take(size);
}

/** Messages below each other, entries of maps included: more than the library reads. */
const maxDepth = 200;

/** A field with bytes, or with a list of scalars: the memory of one value, and its wire type. */
interface Scalars {
  readonly size: number;
  readonly wireType: number;
}

/** The type of a field that takes memory. */
type Kind = Part | Scalars | null;

const fieldsByPart = new WeakMap<Part, ReadonlyMap<number, Kind>>();

/** The fields by their numbers, with the types of those that take memory. */
function fieldsOf(part: Part): ReadonlyMap<number, Kind> {
  let fields = fieldsByPart.get(part);
  if (fields === undefined) fieldsByPart.set(part, (fields = new Map(listFields(part))));
  return fields;
}

function listFields(part: Part): [number, Kind][] {
  if ("entryOf" in part) {
    return [
      [1, null],
      [2, part.entryOf],
    ];
  }
  return part.fields.map((field) => {
    const { message, number } = field;
    if (message === undefined) return [number, scalarsOf(field)];
    return [number, field.fieldKind === "map" ? { entryOf: message } : message];
  });
}

function scalarsOf(field: DescField): Scalars | null {
  const { scalar, fieldKind } = field;
  if (scalar === ScalarType.BYTES) return { size: bytesSize, wireType: 2 };
  if (fieldKind !== "list") return null;
  return { size: itemSize(field), wireType: (scalar === undefined ? enumScalar : scalarOf(scalar)).wireType };
}
