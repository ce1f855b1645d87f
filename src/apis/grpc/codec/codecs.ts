import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { Codec } from "./codec.js";
import { CompiledCodec, canCompile } from "./compiled-codec.js";
import { MessageCodec } from "./message-codec.js";

/** The codec of a type: compiled if it can be. */
export function codecOf(type: DescMessage, registry?: Registry): Codec {
  return canCompile(type) ? new CompiledCodec(type, registry) : new MessageCodec(type, registry);
}
