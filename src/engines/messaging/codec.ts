/** A schema with a codec under this symbol has its own binary format, in place of JSON. */
export const codecSymbol: unique symbol = Symbol.for("stoa.codec");

/** Turns values of a topic into bytes and back. It checks them too. */
export interface ValueCodec {
  /** Gets ready to read a topic. Rejects if its messages would not fit the schema. */
  open(topic: string): Promise<void>;
  /** Gets ready to write a topic. Rejects if the schema is refused. */
  register(topic: string): Promise<void>;
  encode(topic: string, value: unknown): Promise<Uint8Array>;
  /** The value, or a promise of it where something has to be fetched first. */
  decode(topic: string, body: Uint8Array): unknown;
}

/** The codec of a schema; null if its values are JSON. */
export function codecOf(schema: unknown): ValueCodec | null {
  return (schema as { readonly [codecSymbol]?: ValueCodec } | null)?.[codecSymbol] ?? null;
}
