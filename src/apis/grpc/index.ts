export type { ChannelOptions, ChannelTls } from "./client/channel-options.js";
export type {
  CallOptions,
  ClientMethod,
  GrpcClient,
  LooseClient,
  LooseClientOptions,
  Outgoing,
} from "./client/client-types.js";
export { GrpcChannel } from "./client/grpc-channel.js";
export { GrpcConfig, type GrpcOptions } from "./config.js";
export type { GrpcMessage, GrpcValue, MessageInput, MessageOf, MethodKind, ServiceLike } from "./descriptors.js";
export { GrpcCall, type GrpcProtocol } from "./grpc-call.js";
export { GrpcError, type GrpcErrorDetail, type GrpcErrorInit, grpcDetail } from "./grpc-error.js";
export type { GrpcState } from "./grpc-handle.js";
export { Metadata, type MetadataInit, type MetadataValue } from "./metadata.js";
export type {
  GrpcHandler,
  GrpcHandlers,
  GrpcServiceOptions,
  LooseHandler,
  LooseHandlers,
  LooseMethod,
  LooseServiceOptions,
} from "./service-types.js";
export { GrpcStatus, type GrpcStatusCode, type GrpcStatusName } from "./status.js";
