/*
 * The types of messages. They describe the parts of generated descriptors (protoc-gen-es) that Stoa uses, so that the types of
 * an application do not need the package @bufbuild/protobuf.
 */

/** A generated descriptor of a message. */
export interface MessageLike {
  readonly kind: "message";
  readonly typeName: string;
}

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
