import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { loadPackage, notInstalled } from "../../../kit/optional-package.js";
import { InvalidValueError, UndecodableError } from "../values.js";
import type { Format } from "./format.js";
import type { Registry, SchemaDefinition, SchemaReference } from "./registry.js";

type Library = typeof import("@bufbuild/protobuf") & {
  readonly FileDescriptorProtoSchema: typeof import("@bufbuild/protobuf/wkt").FileDescriptorProtoSchema;
};

/** The format of a message. `source` is the text of its `.proto` file; without it the registry gets the descriptor. */
export async function protobufFormat(type: DescMessage, source: string | undefined): Promise<Format> {
  const load = async (): Promise<Library> => ({
    ...(await import("@bufbuild/protobuf").catch(notInstalled)),
    ...(await import("@bufbuild/protobuf/wkt").catch(notInstalled)),
  });
  return new ProtobufFormat(type, source, await loadPackage(load, "@bufbuild/protobuf", "Protobuf"));
}

class ProtobufFormat implements Format {
  readonly name: string;
  /** The place of the message in its file, before each value. */
  readonly #indexes: Uint8Array;

  constructor(
    private readonly type: DescMessage,
    private readonly source: string | undefined,
    private readonly library: Library,
  ) {
    this.name = type.typeName;
    this.#indexes = writeIndexes(indexesOf(type));
  }

  definition(registry: Registry, register: boolean): Promise<SchemaDefinition | null> {
    return this.#definition(this.type.file, registry, register, this.source);
  }

  write(topic: string, value: unknown): Uint8Array {
    const { create, toBinary } = this.library;
    try {
      const bytes = toBinary(this.type, create(this.type, value as never));
      return Buffer.concat([this.#indexes, bytes]);
    } catch (error) {
      // The library's message can hold the value.
      const field = (error as { readonly field?: () => { readonly name?: unknown } }).field?.().name;
      const loc = typeof field === "string" ? ["value", field] : ["value"];
      throw new InvalidValueError(topic, [{ loc, msg: `Not a ${this.name}`, type: "invalid_type" }]);
    }
  }

  /** Fields say their numbers themselves: the writer's schema is not needed. */
  read(_topic: string, _id: number, payload: Uint8Array): unknown {
    try {
      return this.library.fromBinary(this.type, payload.subarray(skipIndexes(payload)));
    } catch (error) {
      throw new UndecodableError(error, `the value is no ${this.name}`);
    }
  }

  async #definition(
    file: DescFile,
    registry: Registry,
    register: boolean,
    source?: string,
  ): Promise<SchemaDefinition | null> {
    const references: SchemaReference[] = [];
    for (const used of file.dependencies) {
      const { name } = used.proto;
      // Registries have these.
      if (name.startsWith("google/protobuf/")) continue;
      const definition = await this.#definition(used, registry, register);
      if (definition === null) return null;
      if (register) await registry.register(name, definition);
      const found = await registry.find(name, definition);
      if (found === null) return null;
      references.push({ name, subject: name, version: found.version });
    }
    const { toBinary, FileDescriptorProtoSchema } = this.library;
    const schema = source ?? Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)).toString("base64");
    return { schema, schemaType: "PROTOBUF", references };
  }
}

/** The numbers of a message and of those around it, the outermost first. */
function indexesOf(type: DescMessage): number[] {
  const { parent, file } = type;
  if (parent === undefined) return [file.messages.indexOf(type)];
  return [...indexesOf(parent), parent.nestedMessages.indexOf(type)];
}

/** The list with its length before it. The first message of a file, which most are, is a single 0. */
function writeIndexes(indexes: readonly number[]): Uint8Array {
  const numbers = indexes.length === 1 && indexes[0] === 0 ? [0] : [indexes.length, ...indexes];
  return Uint8Array.from(numbers.flatMap(zigzag));
}

function zigzag(number: number): number[] {
  const bytes: number[] = [];
  let rest = number * 2;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

/** Messages in messages, more than any file has. */
const deepest = 100;

/** The number of bytes of a list of indexes. */
function skipIndexes(payload: Uint8Array): number {
  let position = 0;
  const next = (): number => {
    for (let value = 0, shift = 0; shift < 35; shift += 7) {
      const byte = payload[position++];
      if (byte === undefined) break;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new Error("the indexes of the message are cut off");
  };
  const count = next();
  if (count < 0 || count > deepest) throw new Error("the indexes of the message are wrong");
  for (let index = 0; index < count; index++) next();
  return position;
}
