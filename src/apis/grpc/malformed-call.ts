import { GrpcError } from "./grpc-error.js";

/** A request that breaks the protocol. gRPC names that INTERNAL; in logs and metrics it is a fault of the client. */
export function malformedCall(message: string, cause?: unknown): GrpcError {
  return new GrpcError("INTERNAL", message, { httpStatus: 400, ...(cause !== undefined && { cause }) });
}
