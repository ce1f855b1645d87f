/** The status codes of gRPC. */
export const GrpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatusName = keyof typeof GrpcStatus;
export type GrpcStatusCode = (typeof GrpcStatus)[GrpcStatusName];

const statusNames: readonly GrpcStatusName[] = Object.keys(GrpcStatus) as GrpcStatusName[];

export function statusName(code: number): GrpcStatusName {
  return statusNames[code] ?? "UNKNOWN";
}

/** The HTTP status of each code: for logs, metrics, and responses of Connect (google/rpc/code.proto). */
const httpStatuses = [200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401];

export function httpStatusOf(code: number): number {
  return httpStatuses[code] ?? 500;
}

const fromHttp: Readonly<Record<number, GrpcStatusCode>> = {
  400: GrpcStatus.INVALID_ARGUMENT,
  401: GrpcStatus.UNAUTHENTICATED,
  403: GrpcStatus.PERMISSION_DENIED,
  404: GrpcStatus.NOT_FOUND,
  405: GrpcStatus.UNIMPLEMENTED,
  408: GrpcStatus.DEADLINE_EXCEEDED,
  409: GrpcStatus.ABORTED,
  412: GrpcStatus.FAILED_PRECONDITION,
  413: GrpcStatus.RESOURCE_EXHAUSTED,
  415: GrpcStatus.UNIMPLEMENTED,
  416: GrpcStatus.OUT_OF_RANGE,
  422: GrpcStatus.INVALID_ARGUMENT,
  429: GrpcStatus.RESOURCE_EXHAUSTED,
  431: GrpcStatus.RESOURCE_EXHAUSTED,
  499: GrpcStatus.CANCELLED,
  501: GrpcStatus.UNIMPLEMENTED,
  502: GrpcStatus.UNAVAILABLE,
  503: GrpcStatus.UNAVAILABLE,
  504: GrpcStatus.DEADLINE_EXCEEDED,
};

/** The code for a response of the pipeline: of a guard, of authentication, of a limit. */
export function codeOfHttp(status: number): GrpcStatusCode {
  const code = fromHttp[status];
  if (code !== undefined) return code;
  if (status < 400) return GrpcStatus.UNKNOWN;
  return status < 500 ? GrpcStatus.FAILED_PRECONDITION : GrpcStatus.INTERNAL;
}

/** The code that a client reads for a response without a gRPC status, such as a proxy's (grpc's http-grpc-status-mapping.md). */
export function codeOfProxy(status: number): GrpcStatusCode {
  switch (status) {
    case 400:
      return GrpcStatus.INTERNAL;
    case 401:
      return GrpcStatus.UNAUTHENTICATED;
    case 403:
      return GrpcStatus.PERMISSION_DENIED;
    case 404:
      return GrpcStatus.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return GrpcStatus.UNAVAILABLE;
    default:
      return GrpcStatus.UNKNOWN;
  }
}

/** `NOT_FOUND` as Connect writes it: `not_found`. */
export function connectCode(code: number): string {
  return code === GrpcStatus.CANCELLED ? "canceled" : statusName(code).toLowerCase();
}
