import type { DescMessage, Registry } from "@bufbuild/protobuf";
import { create, fromJsonString, toBinary, toJsonString } from "../protobuf.js";
import { prefixLength } from "../wire/frames.js";
import type { Codec } from "./codec.js";
import { boundedReader, checkJson, decodeByLibrary } from "./message-bounds.js";

/** The codec of any message, by the reflection of @bufbuild/protobuf. */
export class MessageCodec implements Codec {
  readonly typeName: string;
  readonly #type: DescMessage;
  readonly #registry: Registry | undefined;

  /** `registry` has the types that messages of type `google.protobuf.Any` hold in JSON. */
  constructor(type: DescMessage, registry?: Registry) {
    this.typeName = type.typeName;
    this.#type = type;
    this.#registry = registry;
  }

  encode(message: unknown): Buffer {
    const bytes = toBinary(this.#type, create(this.#type, message as Record<string, unknown>));
    const frame = Buffer.allocUnsafe(prefixLength + bytes.length);
    frame.set(bytes, prefixLength);
    return frame;
  }

  decode(bytes: Uint8Array): unknown {
    return decodeByLibrary(this.#type, bytes, boundedReader(bytes));
  }

  toJson(message: unknown): string {
    return toJsonString(this.#type, create(this.#type, message as Record<string, unknown>), this.#options);
  }

  fromJson(text: string): unknown {
    checkJson(this.#type, text);
    return fromJsonString(this.#type, text, { ignoreUnknownFields: true, ...this.#options });
  }

  get #options() {
    return this.#registry === undefined ? {} : { registry: this.#registry };
  }
}
