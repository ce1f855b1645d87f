import { loadPackage, notInstalled } from "../../../kit/optional-package.js";
import { ValueError } from "../../../kit/value-error.js";
import { toIssues } from "../../../validation/issues.js";
import type { SchemaIssue } from "../../../validation/standard-schema.js";
import { MessagingError } from "../errors.js";
import { InvalidValueError, UndecodableError } from "../values.js";
import type { Format } from "./format.js";
import type { Registry, SchemaDefinition } from "./registry.js";
import { Remembered } from "./remembered.js";

/*
 * The part of avsc that is used. Its own types are not named: the declarations of Stoa must compile where it is not
 * installed.
 */

interface AvroType {
  readonly name?: string;
  readonly typeName: string;
  isValid(value: unknown, options?: { errorHook(path: string[], value: unknown, type: AvroType): void }): boolean;
  toBuffer(value: unknown): Buffer;
  fromBuffer(bytes: Buffer, resolver: object): unknown;
  createResolver(writer: AvroType): object;
}

interface ParseOptions {
  readonly registry: Record<string, AvroType>;
  readonly omitRecordMethods: true;
  readonly typeHook: (schema: unknown, options: ParseOptions) => AvroType | undefined;
}

/** Reads bytes. `pos` may be beyond the end. */
interface Tap {
  readonly buf: Uint8Array;
  pos: number;
  readLong(): number;
  readString(): string;
  skipLong(): void;
  skipString(): void;
  /** Items of arrays and maps that may still come. */
  itemsLeft?: number;
}

interface Part {
  _read(tap: Tap): unknown;
  _skip(tap: Tap): void;
}

type Constructor = new (schema: unknown, options: ParseOptions) => AvroType;

interface Avsc {
  readonly Type: { forSchema(schema: unknown, options: ParseOptions): AvroType };
  readonly types: { readonly ArrayType: Constructor; readonly MapType: Constructor };
}

/** Schemas of writers that are remembered for each schema of a reader. */
const mostWriters = 1000;
/** Schemas that one schema may refer to, directly or not. */
const mostReferences = 100;

/** The way to read the values of a writer; an error if the reader's schema does not allow it. */
type Writer = { readonly resolver: object } | { readonly error: unknown };

/** Loads avsc and compiles a schema. */
export async function avroFormat(schema: unknown): Promise<Format> {
  const load = () => import("avsc").catch(notInstalled);
  const { default: avsc } = await loadPackage(load, "avsc", "Avro");
  const parse = parser(avsc as unknown as Avsc);
  let type: AvroType;
  try {
    type = parse([schema]);
  } catch (error) {
    throw new ValueError(`the Avro schema is wrong: ${(error as Error).message}`, { cause: error });
  }
  return new AvroFormat(type, JSON.stringify(schema), parse);
}

class AvroFormat implements Format {
  readonly name: string | null;
  readonly #writers = new Remembered<number, Writer>(mostWriters);

  constructor(
    private readonly type: AvroType,
    private readonly schema: string,
    private readonly parse: (schemas: readonly unknown[]) => AvroType,
  ) {
    this.name = type.name ?? null;
  }

  async definition(): Promise<SchemaDefinition> {
    return { schema: this.schema };
  }

  own(id: number): void {
    this.#writers.set(id, { resolver: this.type.createResolver(this.type) });
  }

  write(topic: string, value: unknown): Uint8Array {
    const { type } = this;
    if (!type.isValid(value)) {
      const issues: SchemaIssue[] = [];
      const errorHook = (path: string[], _value: unknown, { typeName }: AvroType) =>
        void issues.push({ message: `Expected ${typeName}`, path: [...path], code: "invalid_type" });
      type.isValid(value, { errorHook });
      throw new InvalidValueError(topic, toIssues("value", issues, value));
    }
    return type.toBuffer(value);
  }

  read(_topic: string, id: number, payload: Uint8Array, registry: Registry): unknown {
    const writer = this.#writers.get(id, () => this.#writer(id, registry));
    return writer instanceof Promise
      ? writer.then((known) => this.#value(known, payload))
      : this.#value(writer, payload);
  }

  #value(writer: Writer, payload: Uint8Array): unknown {
    if ("error" in writer)
      throw new UndecodableError(writer.error, "the schema of the value cannot be read as that of the topic");
    try {
      return this.type.fromBuffer(Buffer.from(payload.buffer, payload.byteOffset, payload.length), writer.resolver);
    } catch (error) {
      throw new UndecodableError(error, "the value does not fit the schema that it names");
    }
  }

  async #writer(id: number, registry: Registry): Promise<Writer> {
    const schemas: unknown[] = [];
    await collect(await registry.byId(id), registry, schemas, new Set());
    try {
      return { resolver: this.type.createResolver(this.parse(schemas)) };
    } catch (error) {
      return { error };
    }
  }
}

/** A schema behind all that it refers to. */
async function collect(
  { schema, references = [] }: SchemaDefinition,
  registry: Registry,
  schemas: unknown[],
  seen: Set<string>,
): Promise<void> {
  for (const { subject, version } of references) {
    const key = `${version} ${subject}`;
    if (seen.has(key)) continue;
    if (seen.size >= mostReferences)
      throw new MessagingError("REFUSED", `a schema refers to over ${mostReferences} others`);
    seen.add(key);
    await collect(await registry.byVersion(subject, version), registry, schemas, seen);
  }
  schemas.push(JSON.parse(schema));
}

/** Compiles a list of schemas, where each may name those before it. Resolves to the last of them. */
function parser({ Type, types }: Avsc): (schemas: readonly unknown[]) => AvroType {
  const guarded = { array: guardedArray(types.ArrayType), map: guardedMap(types.MapType) };
  const typeHook: ParseOptions["typeHook"] = (schema, options) => {
    const kind = (schema as { readonly type?: unknown } | null)?.type;
    return kind === "array" || kind === "map" ? new guarded[kind](schema, options) : undefined;
  };
  return (schemas) => {
    const options: ParseOptions = { registry: {}, omitRecordMethods: true, typeHook };
    return schemas.map((schema) => Type.forSchema(schema, options)).at(-1)!;
  };
}

/*
 * avsc looks for the end of the bytes when it has read everything, and it believes the number of items: six bytes could keep it
 * busy for hours. Each item takes up a byte, or is of no use, as one of the type null: so there are at most as many items as
 * bytes.
 */

function guardedArray(ArrayType: Constructor): Constructor {
  return class extends ArrayType implements Part {
    declare readonly itemsType: Part;

    _read(tap: Tap): unknown[] {
      const items: unknown[] = [];
      for (let count = countOf(tap); count > 0; count = countOf(tap)) {
        while (count-- > 0) items.push(this.itemsType._read(tap));
      }
      return items;
    }

    _skip(tap: Tap): void {
      for (let count = countOf(tap); count > 0; count = countOf(tap)) {
        while (count-- > 0) this.itemsType._skip(tap);
      }
    }
  };
}

function guardedMap(MapType: Constructor): Constructor {
  return class extends MapType implements Part {
    declare readonly valuesType: Part;

    _read(tap: Tap): Record<string, unknown> {
      const entries: [string, unknown][] = [];
      for (let count = countOf(tap); count > 0; count = countOf(tap)) {
        while (count-- > 0) entries.push([tap.readString(), this.valuesType._read(tap)]);
      }
      // Not by assignment: a key may be '__proto__'.
      return Object.fromEntries(entries);
    }

    _skip(tap: Tap): void {
      for (let count = countOf(tap); count > 0; count = countOf(tap)) {
        while (count-- > 0) {
          tap.skipString();
          this.valuesType._skip(tap);
        }
      }
    }
  };
}

/** The number of items of the next block; 0 at the end. */
function countOf(tap: Tap): number {
  let count = tap.readLong();
  if (count < 0) {
    count = -count;
    // The bytes of the block: they are read all the same.
    tap.skipLong();
  }
  const left = (tap.itemsLeft ?? tap.buf.length) - count;
  if (left < 0 || tap.pos > tap.buf.length) throw new Error("truncated buffer");
  tap.itemsLeft = left;
  return count;
}
