import type { Inject, Provided } from "../../di/depends.js";
import type { Guard } from "../../guards/guard.js";
import type { MessageInput, MessageOf } from "../../kit/protobuf/message-types.js";
import type { Duration } from "../../kit/time/duration.js";
import type { MethodKind, MethodLike, ServiceLike } from "./descriptors.js";
import type { GrpcCall } from "./grpc-call.js";

type Results<T> = AsyncIterable<T> | Iterable<T>;
type Later<T> = T | Promise<T>;

/** The handler of a method of a generated descriptor. */
export type GrpcHandler<M extends MethodLike, Injected> = M["methodKind"] extends "unary"
  ? (message: MessageOf<M["input"]>, call: GrpcCall, injected: Injected) => Later<MessageInput<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? (
        message: MessageOf<M["input"]>,
        call: GrpcCall,
        injected: Injected,
      ) => Results<MessageInput<M["output"]>> | Promise<Results<MessageInput<M["output"]>>>
    : M["methodKind"] extends "client_streaming"
      ? (
          messages: AsyncIterableIterator<MessageOf<M["input"]>>,
          call: GrpcCall,
          injected: Injected,
        ) => Later<MessageInput<M["output"]>>
      : (
          messages: AsyncIterableIterator<MessageOf<M["input"]>>,
          call: GrpcCall,
          injected: Injected,
        ) => Results<MessageInput<M["output"]>> | Promise<Results<MessageInput<M["output"]>>>;

/** The handlers of a service with a generated descriptor, by the names of its methods. Others are UNIMPLEMENTED. */
export type GrpcHandlers<S extends ServiceLike, I extends Inject> = {
  readonly [K in keyof S["method"]]?: GrpcHandler<S["method"][K], Provided<I>>;
};

/** The handlers of a service given by name, or by the text of a `.proto` file. */
export interface LooseHandlers<I extends Inject> {
  readonly [method: string]: LooseHandler<I> | LooseMethod<I>;
}

/**
 * The handler gives the type of its message: `(message: { name: string }) => ...`, or of the messages of a stream:
 * `(messages: AsyncIterable<{ name: string }>) => ...`. Nothing checks it: the definition is not known to the compiler.
 */
export type LooseHandler<I extends Inject> = (message: never, call: GrpcCall, injected: Provided<I>) => unknown;

/** A method of a service given by name, with the kind of its calls. */
export interface LooseMethod<I extends Inject> {
  /** Default: "server_streaming" for an async generator function, else "unary". Not to be given with a `.proto` file. */
  readonly kind?: MethodKind;
  /** True if a call may be repeated and has no effect: Connect clients may use GET. Not to be given with a `.proto` file. */
  readonly idempotent?: boolean;
  readonly handler: LooseHandler<I>;
}

export interface GrpcServiceOptions<I extends Inject = Inject> {
  /** Guards that must all pass before a handler runs. */
  readonly guards?: readonly Guard[];
  /** Dependencies to inject, by the names that the handlers use. */
  readonly inject?: I;
  /** Time until a unary call gets DEADLINE_EXCEEDED; 0 for no limit. Default: `requestTimeout` of `run`. */
  readonly timeout?: Duration;
  /** Largest message in bytes that a client may send. Default: that of `enableGrpc`. */
  readonly maxMessageSize?: number;
}

export interface LooseServiceOptions<I extends Inject = Inject> extends GrpcServiceOptions<I> {
  /** The service's definition: the text of a `.proto` file, its path, or its URL. */
  readonly proto?: string | URL;
  /** Folders in which imports of the `.proto` file are looked up; its own folder comes first. */
  readonly protoPath?: string | readonly string[];
}
