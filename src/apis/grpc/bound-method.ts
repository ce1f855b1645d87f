import type { Codec } from "./codec/codec.js";
import type { MethodKind } from "./descriptors.js";
import type { GrpcCall } from "./grpc-call.js";

/** A method of a service that is served. */
export interface BoundMethod {
  /** The full name of the service. */
  readonly service: string;
  readonly name: string;
  readonly kind: MethodKind;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly input: Codec;
  readonly output: Codec;
  /** Largest message of a client in bytes. */
  readonly maxMessageSize: number;
  /** Largest message of the handler in bytes. */
  readonly maxResponseSize: number;
  /** True if responses are compressed for clients that accept it. */
  readonly compression: boolean;
  /** True if a call has no effect: Connect clients may use GET. */
  readonly idempotent: boolean;
  readonly handler: (message: unknown, call: GrpcCall, injected: Record<string, unknown>) => unknown;
}

/** True if the client sends a stream. */
export function clientStreams({ kind }: { readonly kind: MethodKind }): boolean {
  return kind === "client_streaming" || kind === "bidi_streaming";
}

/** True if the server sends a stream. */
export function serverStreams({ kind }: { readonly kind: MethodKind }): boolean {
  return kind === "server_streaming" || kind === "bidi_streaming";
}
