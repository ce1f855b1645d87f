import type { Outgoing } from "./client/client-types.js";
import type { MethodKind } from "./descriptors.js";
import { GrpcError } from "./grpc-error.js";
import type { Metadata } from "./metadata.js";

/** The part of a call that interceptors of both sides see. */
export interface InterceptedCall {
  /** The full name of the service. */
  readonly service: string;
  /** The name of the method. */
  readonly method: string;
  readonly kind: MethodKind;
  /** The metadata of the client. A client can change it until `next()` is called. */
  readonly metadata: Metadata;
}

/**
 * A function around a call, usually an async generator: `next()` runs the call and gives the messages of the server; a unary
 * call has one message in each direction. `messages` are those of the client, and `next(others)` replaces them. An
 * interceptor may call `next()` several times, or not at all.
 */
export type GrpcInterceptor<Call = InterceptedCall> = (
  call: Call,
  next: (messages?: Outgoing<unknown>) => AsyncIterable<unknown>,
  messages: Outgoing<unknown>,
) => AsyncIterable<unknown>;

/** Runs a call inside of interceptors; the first is the outermost. */
export function intercept<Call>(
  interceptors: readonly GrpcInterceptor<Call>[],
  call: Call,
  messages: Outgoing<unknown>,
  run: (messages: Outgoing<unknown>) => AsyncIterable<unknown>,
): AsyncIterable<unknown> {
  const from = (index: number, given: Outgoing<unknown>): AsyncIterable<unknown> => {
    const interceptor = interceptors[index];
    if (interceptor === undefined) return run(given);
    const made: unknown = interceptor(call, (changed = given) => from(index + 1, changed), given);
    if (typeof made === "object" && made !== null && Symbol.asyncIterator in made)
      return made as AsyncIterable<unknown>;
    throw new TypeError("an interceptor must return an async iterable: return next(), or write an async generator");
  };
  return from(0, messages);
}

/** The only message of a call that is no stream. */
export async function onlyMessage(messages: Outgoing<unknown>): Promise<unknown> {
  let found: { readonly message: unknown } | null = null;
  for await (const message of messages) {
    if (found !== null) throw new GrpcError("INTERNAL", "an interceptor gave more than one message");
    found = { message };
  }
  if (found === null) throw new GrpcError("INTERNAL", "an interceptor gave no message");
  return found.message;
}
