/*
 * The types of services. They describe the parts of generated descriptors (protoc-gen-es) that Stoa uses, so
 * that the types of an application do not need the package @bufbuild/protobuf.
 */

import type { MessageLike } from "../../kit/protobuf/message-types.js";

/** A generated descriptor of a service. */
export interface ServiceLike {
  readonly kind: "service";
  readonly typeName: string;
  readonly method: Readonly<Record<string, MethodLike>>;
}

export interface MethodLike {
  readonly methodKind: MethodKind;
  readonly input: MessageLike;
  readonly output: MessageLike;
}

/** The four kinds of calls. */
export type MethodKind = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
