import type { Provided, Inject } from "../../di/depends.js";
import type { Guard } from "../../guards/guard.js";
import type { GrpcCall } from "./grpc-call.js";

/*
 * The types of services and handlers. They describe the parts of generated descriptors (protoc-gen-es) that Stoa uses, so
 * that the types of an application do not need the package @bufbuild/protobuf.
 */

/** A generated descriptor of a message. */
export interface MessageLike {
  readonly kind: "message";
  readonly typeName: string;
}

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

/** The type of a message, from its descriptor. */
export type MessageOf<M> = M extends { readonly $codegenv2: { a: infer Shape } }
  ? Shape
  : M extends { readonly $codegenv1: { a: infer Shape } }
    ? Shape
    : GrpcMessage;

/** A message as a handler or a caller can give it: fields may be left out. */
export type MessageInput<M> = Init<MessageOf<M>>;

interface AnyMessage {
  readonly $typeName: string;
}

/** The same as `MessageInitShape` of @bufbuild/protobuf. */
type Init<T> = T extends AnyMessage
  ? T | { [P in keyof T as P extends "$unknown" ? never : P]?: P extends "$typeName" ? never : FieldInit<T[P]> }
  : T;
type FieldInit<F> = F extends Date | Uint8Array | bigint | boolean | string | number
  ? F
  : F extends (infer U)[]
    ? FieldInit<U>[]
    : F extends AnyMessage
      ? Init<F>
      : F extends { case: infer C; value: infer V extends AnyMessage }
        ? { case: C; value: Init<V> }
        : F extends { case: string | undefined; value?: unknown }
          ? F
          : F extends { [key: string | number]: infer V extends AnyMessage }
            ? { [key: string | number]: Init<V> }
            : F;

/** A value in a message whose type is not known to the compiler. */
export type GrpcValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Uint8Array
  | readonly GrpcValue[]
  | { readonly [field: string]: GrpcValue };

/** A message whose type is not known to the compiler: of a service given by name, or by the text of a `.proto` file. */
export interface GrpcMessage {
  readonly [field: string]: GrpcValue;
}

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

/** Written as a method, so that a handler can give the type of its message: `(message: { name: string }) => ...`. */
export type LooseHandler<I extends Inject> = {
  handle(message: GrpcMessage & AsyncIterable<GrpcMessage>, call: GrpcCall, injected: Provided<I>): unknown;
}["handle"];

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
  /** Seconds until a unary call gets DEADLINE_EXCEEDED; 0 for no limit. Default: `requestTimeout` of `run`. */
  readonly timeout?: number;
  /** Largest message in bytes that a client may send. Default: that of `enableGrpc`. */
  readonly maxMessageSize?: number;
}

export interface LooseServiceOptions<I extends Inject = Inject> extends GrpcServiceOptions<I> {
  /** The service's definition: the text of a `.proto` file, its path, or its URL. */
  readonly proto?: string | URL;
  /** Folders in which imports of the `.proto` file are looked up; its own folder comes first. */
  readonly protoPath?: string | readonly string[];
}
