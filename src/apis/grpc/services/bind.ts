import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { Logger } from "../../../kit/logger.js";
import type { BoundMethod } from "../bound-method.js";
import type { Codec } from "../codec/codec.js";
import { codecOf } from "../codec/codecs.js";
import { StructCodec } from "../codec/struct-codec.js";
import type { GrpcConfig } from "../config.js";
import { GrpcError } from "../grpc-error.js";
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
      handler: (handler ??
        unimplemented(
          `the method ${path} is declared, but the server has no handler for it`,
        )) as BoundMethod["handler"],
    };
  });
  if (missing.length > 0)
    logger.warn(`the gRPC service ${descriptor.typeName} has no handlers for ${missing.join(", ")}`);
  return bound;
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
