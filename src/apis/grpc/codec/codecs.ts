import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { Codec } from "./codec.js";
import { MessageCodec } from "./message-codec.js";

/** The codec of a type. */
export function codecOf(type: DescMessage, registry?: Registry): Codec {
  return new MessageCodec(type, registry);
}
