export type { ChannelOptions, ChannelTls } from "../apis/grpc/client/channel-options.js";
export type {
  CallOptions,
  ClientMethod,
  GrpcClient,
  GrpcClientCall,
  LooseClient,
  LooseClientOptions,
  Outgoing,
} from "../apis/grpc/client/client-types.js";
export { GrpcChannel } from "../apis/grpc/client/grpc-channel.js";
export type { GrpcServiceConfig } from "../apis/grpc/client/service-config.js";
export { GrpcConfig, type GrpcOptions } from "../apis/grpc/config.js";
export type { MethodKind, ServiceLike } from "../apis/grpc/descriptors.js";
export { GrpcCall, type GrpcProtocol } from "../apis/grpc/grpc-call.js";
export { GrpcError, type GrpcErrorDetail, type GrpcErrorInit, grpcDetail } from "../apis/grpc/grpc-error.js";
export type { GrpcState } from "../apis/grpc/grpc-handle.js";
export type { GrpcInterceptor, InterceptedCall } from "../apis/grpc/interceptor.js";
export { Metadata, type MetadataInit, type MetadataValue } from "../apis/grpc/metadata.js";
export type {
  GrpcHandler,
  GrpcHandlers,
  GrpcServiceOptions,
  LooseHandler,
  LooseHandlers,
  LooseMethod,
  LooseServiceOptions,
} from "../apis/grpc/service-types.js";
export { GrpcStatus, type GrpcStatusCode, type GrpcStatusName } from "../apis/grpc/status.js";
export type { GrpcMessage, GrpcValue, MessageInput, MessageOf } from "../kit/protobuf/message-types.js";
