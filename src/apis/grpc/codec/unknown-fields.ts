import type { DescMessage } from "@bufbuild/protobuf";
import { WireReader } from "../../../kit/protobuf/wire-reader.js";
import { fromBinary } from "../protobuf.js";

/**
 * Unknown fields that one message may keep, with all messages in it. A field takes two bytes on the wire and two hundred in
 * memory, whatever the type of the message is. Beyond this number they are dropped.
 */
export const maxUnknownFields = 10_000;

/** The number of unknown fields that may still be kept. */
export interface UnknownBudget {
  unknownLeft: number;
}

/** Decodes by the library, which has no such limit. */
export function decodeByLibrary(type: DescMessage, bytes: Uint8Array, budget: UnknownBudget): object {
  const count = unknownIn(type, new WireReader(bytes), 0);
  const readUnknownFields = count <= budget.unknownLeft;
  if (readUnknownFields) budget.unknownLeft -= count;
  return fromBinary(type, bytes, { readUnknownFields });
}

/** A message, or an entry of a map of messages. */
type Part = DescMessage | { readonly entryOf: DescMessage };

/** The fields of a message that its type does not have. The contents of groups count as well. */
function unknownIn(part: Part, reader: WireReader, depth: number): number {
  let count = 0;
  const fields = fieldsOf(part);
  while (reader.at < reader.end) {
    const tag = reader.header();
    const wireType = tag & 7;
    const known = fields.get(tag >>> 3);
    if (known === undefined) count++;
    if (wireType === 3 || wireType === 4) continue;
    if (wireType !== 2 || !known || depth > maxDepth) {
      reader.skip(tag);
      continue;
    }
    const outer = reader.end;
    reader.end = reader.boundary();
    count += unknownIn(known, reader, depth + 1);
    reader.end = outer;
  }
  return count;
}

/** Messages below each other, entries of maps included: more than the library reads. */
const maxDepth = 200;

const fieldsByPart = new WeakMap<Part, ReadonlyMap<number, Part | null>>();

/** The fields by their numbers, with the types of those that are messages. */
function fieldsOf(part: Part): ReadonlyMap<number, Part | null> {
  let fields = fieldsByPart.get(part);
  if (fields === undefined) fieldsByPart.set(part, (fields = new Map(listFields(part))));
  return fields;
}

function listFields(part: Part): [number, Part | null][] {
  if ("entryOf" in part) {
    return [
      [1, null],
      [2, part.entryOf],
    ];
  }
  return part.fields.map((field) => {
    const { message = null } = field;
    return [field.number, message !== null && field.fieldKind === "map" ? { entryOf: message } : message];
  });
}
