import { type OptionsOf, option, options } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";
import type { GrpcMessage, MessageInput, MessageOf } from "../../../kit/protobuf/message-types.js";
import type { MethodKind, MethodLike, ServiceLike } from "../descriptors.js";
import type { Metadata, MetadataInit } from "../metadata.js";

export const callOptions = options("a call of gRPC", {
  /** Metadata in addition to that of the channel. */
  metadata: option<MetadataInit>(is.object),
  /** Time from the start of the call until it fails with DEADLINE_EXCEEDED; 0 for no limit. */
  timeout: option.duration(null),
  /** Cancels the call. */
  signal: option(is.signal),
  /**
   * False for a call that continues without the call of the handler that makes it. By default it ends with that one: with
   * its deadline, and when its client cancels.
   */
  inherit: option(is.boolean),
  /** True if the call can be repeated: it is, if the server is not available. Default: as the definition says. */
  idempotent: option(is.boolean),
  /** Called with the metadata that the server sends before its first message. */
  onHeaders: option<(metadata: Metadata) => void>(is.function),
  /** Called with the metadata that the server sends after its last message. */
  onTrailers: option<(metadata: Metadata) => void>(is.function),
});

/** The options of one call. */
export interface CallOptions extends OptionsOf<typeof callOptions.fields> {}

/** A call of a client, as its interceptors see it. They can change its options until they call `next()`. */
export interface GrpcClientCall extends Changeable<CallOptions> {
  /** The full name of the service. */
  readonly service: string;
  /** The name of the method. */
  readonly method: string;
  readonly kind: MethodKind;
  /** The metadata of the channel and of the call. */
  readonly metadata: Metadata;
}

type Changeable<T> = { -readonly [K in keyof T]: T[K] };

/** Messages for the server: any iterable. */
export type Outgoing<T> = AsyncIterable<T> | Iterable<T>;

/** A method of a service, as its clients call it. */
export type ClientMethod<M extends MethodLike> = M["methodKind"] extends "unary"
  ? (message: MessageInput<M["input"]>, options?: CallOptions) => Promise<MessageOf<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? (message: MessageInput<M["input"]>, options?: CallOptions) => AsyncIterableIterator<MessageOf<M["output"]>>
    : M["methodKind"] extends "client_streaming"
      ? (messages: Outgoing<MessageInput<M["input"]>>, options?: CallOptions) => Promise<MessageOf<M["output"]>>
      : (
          messages: Outgoing<MessageInput<M["input"]>>,
          options?: CallOptions,
        ) => AsyncIterableIterator<MessageOf<M["output"]>>;

/** A client of a service with a generated descriptor. */
export type GrpcClient<S extends ServiceLike> = { readonly [K in keyof S["method"]]: ClientMethod<S["method"][K]> };

/** A client of a service given by its name. Its messages are JSON objects, or those of a `.proto` file. */
export interface LooseClient {
  unary<T = GrpcMessage>(method: string, message?: object, options?: CallOptions): Promise<T>;
  serverStreaming<T = GrpcMessage>(method: string, message?: object, options?: CallOptions): AsyncIterableIterator<T>;
  clientStreaming<T = GrpcMessage>(method: string, messages: Outgoing<object>, options?: CallOptions): Promise<T>;
  bidiStreaming<T = GrpcMessage>(
    method: string,
    messages: Outgoing<object>,
    options?: CallOptions,
  ): AsyncIterableIterator<T>;
}

export interface LooseClientOptions {
  /** The service's definition: the text of a `.proto` file, its path, or its URL. Without it messages are JSON objects. */
  readonly proto?: string | URL;
  /** Folders in which imports of the `.proto` file are looked up. */
  readonly protoPath?: string | readonly string[];
}
