import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { Logger } from "../../../kit/logger.js";
import { type BoundMethod, clientStreams, serverStreams } from "../bound-method.js";
import type { Outgoing } from "../client/client-types.js";
import type { Codec } from "../codec/codec.js";
import { codecOf } from "../codec/codecs.js";
import { StructCodec } from "../codec/struct-codec.js";
import type { GrpcConfig } from "../config.js";
import { GrpcError } from "../grpc-error.js";
import { intercept, onlyMessage } from "../interceptor.js";
import type { DescribedService } from "./registry.js";

/** All methods of a service. Those without a handler respond with UNIMPLEMENTED. */
export function bindMethods(
  { declared, descriptor, struct, handlers }: DescribedService,
  config: GrpcConfig,
  registry: Registry,
  logger: Logger,
): BoundMethod[] {
  const codec = (type: DescMessage): Codec => (struct ? new StructCodec() : codecOf(type, registry));
  const missing: string[] = [];
  const bound = descriptor.methods.map((method): BoundMethod => {
    const handler = handlers.get(method.name)?.handler;
    if (!handler) missing.push(method.name);
    const path = `/${descriptor.typeName}/${method.name}`;
    return {
      service: descriptor.typeName,
      name: method.name,
      kind: method.methodKind,
      path,
      input: codec(method.input),
      output: codec(method.output),
      ...limitsOf(config, declared.maxMessageSize),
      idempotent: method.idempotency === 1,
      handler: intercepted(
        (handler ??
          unimplemented(
            `the method ${path} is declared, but the server has no handler for it`,
          )) as BoundMethod["handler"],
        { kind: method.methodKind },
        config,
      ),
    };
  });
  if (missing.length > 0)
    logger.warn(`the gRPC service ${descriptor.typeName} has no handlers for ${missing.join(", ")}`);
  return bound;
}

/** The handler inside of the interceptors. */
function intercepted(
  handler: BoundMethod["handler"],
  method: Pick<BoundMethod, "kind">,
  { interceptors }: GrpcConfig,
): BoundMethod["handler"] {
  if (interceptors.length === 0) return handler;
  return (message, call, injected) => {
    const messages = (clientStreams(method) ? message : [message]) as Outgoing<unknown>;
    const responses = intercept(interceptors, call, messages, async function* (given) {
      const response = handler(clientStreams(method) ? given : await onlyMessage(given), call, injected);
      if (serverStreams(method)) yield* response as AsyncIterable<unknown>;
      else yield await response;
    });
    return serverStreams(method) ? responses : onlyMessage(responses);
  };
}

export function limitsOf(
  config: GrpcConfig,
  maxMessageSize: number = config.maxMessageSize,
): Pick<BoundMethod, "maxMessageSize" | "maxResponseSize" | "compression"> {
  return { maxMessageSize, maxResponseSize: config.maxResponseSize, compression: config.compression };
}

/** Refuses calls of methods that no service has. */
export function unknownMethod(config: GrpcConfig): BoundMethod {
  const codec = new StructCodec();
  return {
    service: "",
    name: "",
    kind: "bidi_streaming",
    path: "/{service}/{method}",
    input: codec,
    output: codec,
    ...limitsOf(config),
    idempotent: false,
    handler: (_messages, { request }) => unimplemented(`there is no method ${request.path}`)(),
  };
}

function unimplemented(message: string): () => never {
  return () => {
    throw new GrpcError("UNIMPLEMENTED", message);
  };
}
