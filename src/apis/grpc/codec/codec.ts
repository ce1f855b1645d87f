/** Reads and writes the messages of one type. */
export interface Codec {
  /** The full name of the type. */
  readonly typeName: string;
  /** The message in the wire format of protobuf, behind five bytes that are left for the prefix of its frame. */
  encode(message: unknown): Buffer;
  /** Throws for bytes that are no message of this type. */
  decode(bytes: Uint8Array): unknown;
  toJson(message: unknown): string;
  fromJson(text: string): unknown;
}
