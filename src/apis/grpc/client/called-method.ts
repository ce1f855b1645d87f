import type { Codec } from "../codec/codec.js";
import type { MethodKind } from "../descriptors.js";

/** A method that a client calls. */
export interface CalledMethod {
  readonly service: string;
  readonly name: string;
  readonly kind: MethodKind;
  readonly input: Codec;
  readonly output: Codec;
  readonly idempotent: boolean;
}
